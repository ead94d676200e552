/*
 * Where the runtime is between nrt_init and nrt_close: changed by lifecycle.c, with lifecycle_lock
 * held. Everything in this folder asks state.c, so it calls nothing here.
 */
#ifndef KYMO_NEURON_RUNTIME_STATE_H
#define KYMO_NEURON_RUNTIME_STATE_H

#include "neuron/runtime/runtime.h"

enum runtime_phase { RUNTIME_BEFORE_INIT, RUNTIME_READY, RUNTIME_CLOSING, RUNTIME_CLOSED };

struct lifecycle {
    _Atomic enum runtime_phase phase;
    int lock_file;   /* of the cores; -1: none are taken */
    bool has_forked; /* from a process that used the runtime */
};
extern struct lifecycle lifecycle;

/* Returns when the last call has left; new ones are refused already. Calls wake for those that
 * wait for something else. */
void runtime_wait_for_calls(void (*wake)(void));

#endif
