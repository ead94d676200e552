/*
 * The cap on the Tensor engine's rate after idling, on generations that have it.
 */
#ifndef KYMO_NEURON_SIMULATOR_THROTTLE_H
#define KYMO_NEURON_SIMULATOR_THROTTLE_H

#include "neuron/simulator/state.h"

/* Called before a matmul's cost is computed. */
void throttle_begin(struct core *core);
/* The array is occupied from now on for this many ticks. */
void throttle_add(struct core *core, uint64_t ticks);
/* A window has ended. */
void throttle_measure(struct core *core);

#endif
