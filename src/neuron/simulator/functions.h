/*
 * The functions of enum function, and those operations that need more than the processor has. They
 * are worked out in double precision by formulas of our own, as mathematical libraries differ: the
 * results are the same on every machine, and within one unit in the last place of FP32.
 */
#ifndef KYMO_NEURON_SIMULATOR_FUNCTIONS_H
#define KYMO_NEURON_SIMULATOR_FUNCTIONS_H

#include "neuron/program/neff.h"

/* out may be in. */
void function_floats(enum function function, const float *in, float *out, size_t count);
/* Whether integers stay integers: NOT, POPULATION_COUNT, LEADING_ZEROS, IDENTITY, ABS, SIGN, RELU,
 * SQUARE. The others take them as FP32. */
bool function_keeps_integers(enum function function);
/* bits: the width of the elements' type. */
void function_integers(enum function function, unsigned bits, const int64_t *in, int64_t *out,
                       size_t count);

float function_power(float base, float exponent);
float function_atan2(float y, float x);

#endif
