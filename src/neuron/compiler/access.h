/*
 * Where the elements of a value are: broadcasts, transposes, slices and most reshapes take no work;
 * they are another way to walk through the memory of the value behind them.
 */
#ifndef KYMO_NEURON_COMPILER_ACCESS_H
#define KYMO_NEURON_COMPILER_ACCESS_H

#include "neuron/compiler/ir.h"

struct access {
    uint32_t base;  /* the node whose memory it is */
    int64_t offset; /* elements */
    uint32_t rank;
    uint32_t size[IR_RANK];
    int64_t step[IR_RANK]; /* elements */
};

/* All elements of a tensor in row-major order. */
struct access access_dense(uint32_t base, const struct ir_type *type);
bool access_is_dense(const struct access *access);
/* Without dimensions of size 1. */
struct access access_squeezed(const struct access *access);
/* Merges adjacent dimensions that form one walk. */
void access_collapse(struct access *access);
/* The access of each node. A reshape that cannot be expressed as a walk becomes a COPY. Free with
 * mem_free. */
struct access *access_resolve(struct ir *ir);

#endif
