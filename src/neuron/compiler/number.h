/*
 * Numbers as the bytes of a data type.
 */
#ifndef KYMO_NEURON_COMPILER_NUMBER_H
#define KYMO_NEURON_COMPILER_NUMBER_H

#include "neuron/program/neff.h"

/* Floats are rounded to nearest even, beyond the range to infinity (E4: NaN); integers are taken
 * modulo their width. `number` is of float types, `integer` of the others. */
void number_encode(enum dtype dtype, double number, int64_t integer, uint8_t *bytes);

#endif
