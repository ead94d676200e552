/*
 * The ends of instructions that change no semaphore: only profiles need them. They wait in short
 * queues of their engine rather than among the events, which makes profiling cheap, and are
 * notified before anything later of the same engine.
 */
#ifndef KYMO_NEURON_SIMULATOR_COMPLETIONS_H
#define KYMO_NEURON_SIMULATOR_COMPLETIONS_H

#include "neuron/simulator/state.h"

/* False if the queue is full. `order`: which of the engine's queues, each in order of time. */
bool completion_push(struct core *core, unsigned engine, unsigned order, uint64_t time, uint32_t pc,
                     uint32_t iteration);
/* Notifies an engine's ends up to a time. */
void completions_notify(struct core *core, unsigned engine, uint64_t until);

#endif
