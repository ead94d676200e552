/*
 * Where workers run: a core each, and the address at which they find each other.
 */
#ifndef KYMO_NEURON_RUN_LAUNCH_SEATS_H
#define KYMO_NEURON_RUN_LAUNCH_SEATS_H

#include "neuron/run/launch/launch.h"
#include "neuron/runtime/cores/cores.h"

struct seats {
    struct cores_row cores; /* of all workers */
    uint32_t cores_each;
    bool are_reserved, are_nodes, any; /* any: wherever cores are free */
    int lock, port;                    /* descriptors, -1: none */
};

/* Reserves cores, and for several workers a port unless NEURON_RT_ROOT_COMM_ID is set; sets the
 * variables that workers have in common. */
bool seats_take(struct seats *seats, const struct launch_options *launch, struct error *err);
/* In the process of a worker: the variables of its own. */
void seats_enter(const struct seats *seats, uint32_t worker);
void seats_give_back(struct seats *seats);

#endif
