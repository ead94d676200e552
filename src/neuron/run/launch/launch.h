/*
 * launch: worker processes of this node, with the ranks of a communicator and their cores. They are
 * forks of this process, which has no other threads and has not initialized a runtime.
 */
#ifndef KYMO_NEURON_RUN_LAUNCH_LAUNCH_H
#define KYMO_NEURON_RUN_LAUNCH_LAUNCH_H

#include "base/base.h"

enum launch_result {
    LAUNCH_DONE,
    LAUNCH_FAILED,
    LAUNCH_GAVE_UP, /* because another worker failed, whose error is reported */
};

struct launch_options {
    uint32_t workers;    /* on this node */
    uint32_t cores_each; /* of a worker, next to each other; 0: one */
    bool are_nodes;      /* workers stand for nodes: each has all cores of a machine, and a name */
    uint32_t core_version; /* of the cores that are needed */
    uint32_t logical_size; /* physical cores of a logical one, 0: as the instance has */
    bool is_foreign;       /* the runtime is not Kymo's: cores are those of a device */
    /* In the process of a worker, counted from 0. Its environment lets the runtime see its cores,
     * whose indices begin with 0, and find the other workers. */
    enum launch_result (*work)(void *context, uint32_t worker, struct error *err);
    /* In this process: what workers send, each one's in its order. NULL: nothing. */
    void (*receive)(void *context, uint32_t worker, const void *data, size_t size);
    void *context;
};

/* Starts the workers and waits for them. When one fails, the others end soon, by themselves or by a
 * signal. err: the first that failed. No worker outlives this process. */
bool launch_run(const struct launch_options *launch, struct error *err);
/* In a worker. */
void launch_send(const void *data, size_t size);

/* For one worker, which is this process itself: sets the variables that the user did not. */
void launch_here(uint32_t core_version, uint32_t logical_size);

#endif
