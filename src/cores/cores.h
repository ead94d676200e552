/*
 * cores: which process has which NeuronCores of this machine. A lock file for each instance type,
 * in a folder of the user, has two bytes for each physical core: in use, and reserved. Locks belong
 * to the open file, so they end with its last descriptor, however the processes end.
 */
#ifndef KYMO_CORES_CORES_H
#define KYMO_CORES_CORES_H

#include "base/base.h"

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

/* All or none; with `any`, the first in a row that are free, and row->first is where. Returns a
 * descriptor to close when they are given back, or -1. */
int cores_take(const struct cores_machine *machine, enum cores_claim claim, bool any,
               struct cores_row *row, struct error *err);

#endif
