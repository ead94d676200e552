/*
 * The engines: each issues the instructions of its list in order.
 */
#ifndef KYMO_NEURON_SIMULATOR_ENGINE_H
#define KYMO_NEURON_SIMULATOR_ENGINE_H

#include "neuron/simulator/state.h"

/* Issues the engine's next instruction, if it can start now. */
void engine_issue(struct core *core, enum engine engine);
/* An instruction has read its operands, or is complete. */
void engine_read(struct core *core, enum engine engine, uint32_t pc);
void engine_complete(struct core *core, enum engine engine, uint32_t pc, uint32_t iteration);

#endif
