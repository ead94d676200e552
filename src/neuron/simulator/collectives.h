/*
 * Collectives: data is exchanged with the other ranks at the trigger; they complete when the links
 * and the other ranks allow.
 */
#ifndef KYMO_NEURON_SIMULATOR_COLLECTIVES_H
#define KYMO_NEURON_SIMULATOR_COLLECTIVES_H

#include "neuron/simulator/state.h"

void collective_trigger(struct core *core, enum engine engine, uint32_t pc, uint32_t index);
void collective_done(struct core *core, enum engine engine, uint32_t index);

#endif
