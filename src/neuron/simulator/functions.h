/*
 * The functions of enum function, and operations that processors have no instructions for. They are
 * computed in double precision by our own formulas, as mathematical libraries differ: results are
 * the same on every machine, and within one unit in the last place of FP32.
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
