/*
 * The effect of instructions on data in SBUF and PSUM.
 */
#ifndef KYMO_NEURON_SIMULATOR_COMPUTE_H
#define KYMO_NEURON_SIMULATOR_COMPUTE_H

#include "neuron/simulator/state.h"

/* One of those up to OP_IOTA. */
void compute_instruction(struct core *core, const struct instruction *instruction);
/* The operand's one element, an integer. */
int64_t compute_element(const struct core *core, const struct operand *operand);

#endif
