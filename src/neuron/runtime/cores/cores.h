/*
 * cores: which process uses which NeuronCores of this machine. A lock file for each instance type,
 * in a folder of the user, has two bytes for each physical core: in use, and reserved. Locks belong
 * to the open file, so they end with its last descriptor, however the processes end.
 *
 * The folder is $XDG_RUNTIME_DIR/kymo-neuron, or else /tmp/kymo-neuron-<uid>. Another user can take
 * that name in /tmp: then the first of a few further names is used that this user owns or can
 * create.
 */
#ifndef KYMO_NEURON_RUNTIME_CORES_CORES_H
#define KYMO_NEURON_RUNTIME_CORES_CORES_H

#include "base/base.h"

#include <limits.h>

struct cores_row { /* logical cores in a row */
    uint32_t first, count;
};

/* "3", "0-3" or "0,1,2": increasing, without gaps, below the total. */
bool cores_parse(const char *text, uint32_t total, struct cores_row *row);

enum cores_claim {
    CORES_OWN,         /* for this process */
    CORES_RESERVE,     /* for processes that this one starts */
    CORES_OF_RESERVED, /* one of those processes: its own among them */
};

struct cores_machine {
    const char *instance, *node; /* nodes of different names are different machines; "": this one */
    uint32_t logical_size;       /* physical cores of a logical one */
    uint32_t total;              /* logical cores */
};

/* All or none; with `any`, the first free contiguous cores, and row->first says where. Returns a
 * descriptor for cores_give_back, or -1; closing it is enough if no child has a copy. */
int cores_take(const struct cores_machine *machine, enum cores_claim claim, bool any,
               struct cores_row *row, struct error *err);
/* Closes it. The cores are free at once, even if a child has a copy of the descriptor; a child
 * closes its copy without this. */
void cores_give_back(int file);

/* The folder of locks, which is made; `runtime` is NULL or $XDG_RUNTIME_DIR, `temporary` /tmp. */
bool cores_folder(char path[static PATH_MAX], const char *runtime, const char *temporary,
                  struct error *err);

#endif
