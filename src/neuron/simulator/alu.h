/*
 * The operations of enum alu, on vectors of FP32 and of 64-bit integers.
 */
#ifndef KYMO_NEURON_SIMULATOR_ALU_H
#define KYMO_NEURON_SIMULATOR_ALU_H

#include "neuron/program/neff.h"

/* out may be a or b. */
void alu_floats(enum alu alu, const float *a, const float *b, float *out, size_t count);
/* bits: the width of a, for shifts. */
struct integer_kind {
    unsigned bits;
    bool is_unsigned; /* of 64 bits */
};
void alu_integers(enum alu alu, struct integer_kind kind, const int64_t *a, const int64_t *b,
                  int64_t *out, size_t count);
/* One signed value of 64 bits. */
int64_t alu_integer(enum alu alu, int64_t a, int64_t b);

/* ADD, MULTIPLY, MAX, MIN; integers also AND and OR. For floats, each of sixteen partial results
 * takes every sixteenth element; they are combined pairwise: (0, 8), (1, 9) ...; (0, 4) ...; ... */
struct float_reduction {
    float lanes[16];
    size_t count;
};
void reduction_begin(struct float_reduction *reduction, enum alu alu);
void reduction_add(struct float_reduction *reduction, enum alu alu, const float *in, size_t count);
float reduction_end(const struct float_reduction *reduction, enum alu alu);

int64_t reduce_identity(enum alu alu, struct integer_kind kind);

#endif
