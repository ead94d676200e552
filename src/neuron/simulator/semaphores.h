/*
 * Semaphores, and the engines that wait for them.
 */
#ifndef KYMO_NEURON_SIMULATOR_SEMAPHORES_H
#define KYMO_NEURON_SIMULATOR_SEMAPHORES_H

#include "neuron/simulator/state.h"

/* Sets its value and wakes the engines that waited for it. `engine` and `instruction` set it;
 * NO_INDEX: a DMA block or a collective that the engine started. */
void semaphore_set(struct core *core, uint32_t semaphore, uint32_t value, unsigned engine,
                   uint32_t instruction);
/* The value after an update: sums stay within 0 and UINT32_MAX. */
uint32_t semaphore_updated(uint32_t value, enum update_kind kind, uint32_t by);

#endif
