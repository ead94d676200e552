/*
 * HLO modules, as XLA serializes them, become the compiler's internal form. Calls, fusions and
 * loops are expanded, so that one list of operations remains.
 */
#ifndef KYMO_NEURON_COMPILER_HLO_READ_H
#define KYMO_NEURON_COMPILER_HLO_READ_H

#include "neuron/compiler/ir.h"

/* Fills an initialized ir; path is for messages. Parameters become input0, input1, ..., the leaves
 * of the result output0, output1, ... The bytes are not needed afterward. */
bool hlo_read(const uint8_t *bytes, size_t size, const char *path, struct ir *ir,
              struct error *err);

#endif
