/*
 * Splits a model over the physical cores of a logical one. Each core computes a part of each
 * output, a run of its first dimension, and the part of all other values that this needs; values
 * that cannot be divided, such as a sum over the divided dimension, are computed whole by each
 * core. Cores exchange nothing: they read the same inputs and write different parts of the same
 * outputs.
 */
#ifndef KYMO_NEURON_COMPILER_SPLIT_H
#define KYMO_NEURON_COMPILER_SPLIT_H

#include "neuron/compiler/ir.h"

/* Fills `to` with core's share; `from` must outlive it. Outputs that another core computes have no
 * value. */
bool split_for_core(const struct ir *from, uint32_t core, uint32_t cores, struct ir *to,
                    struct error *err);

#endif
