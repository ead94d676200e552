/*
 * Elements of all data types to FP32 and 64-bit integers and back. Floats are rounded to the
 * nearest, ties to even; values too large for a float become infinity, or NaN in FP8_E4, which has
 * no infinity. Floats become integers toward zero, clamped to the type's range, NaN becoming 0;
 * integers become narrower ones by their lowest bits.
 */
#ifndef KYMO_NEURON_SIMULATOR_CONVERT_H
#define KYMO_NEURON_SIMULATOR_CONVERT_H

#include "neuron/program/neff.h"

/* `step` is the distance of elements in bytes. Addresses need no alignment. */
void load_floats(enum dtype dtype, const uint8_t *from, int64_t step, size_t count, float *out);
void store_floats(enum dtype dtype, const float *in, size_t count, uint8_t *to, int64_t step);
/* UINT64 keeps its bits. Floats are converted as store_floats does to INT64. */
void load_integers(enum dtype dtype, const uint8_t *from, int64_t step, size_t count, int64_t *out);
/* is_unsigned: the integers are the bits of UINT64; matters where dtype is a float. */
void store_integers(enum dtype dtype, const int64_t *in, size_t count, uint8_t *to, int64_t step,
                    bool is_unsigned);
/* Copies elements of 1, 2, 4 or 8 bytes. */
void copy_elements(uint32_t bytes, const uint8_t *from, int64_t from_step, uint8_t *to,
                   int64_t to_step, size_t count);

enum { FOUND_NAN = 1, FOUND_INFINITY = 2 };
/* Which of them occur; 0 for integers. */
unsigned find_bad_numbers(enum dtype dtype, const uint8_t *from, int64_t step, size_t count);

#endif
