/*
 * Walking over the elements of an operand's row or of an end of a transfer, in order, in pieces
 * whose elements are at equal distances.
 */
#ifndef KYMO_NEURON_SIMULATOR_WALK_H
#define KYMO_NEURON_SIMULATOR_WALK_H

#include "neuron/simulator/state.h"

/* Dimensions of size 1 are omitted, and those that continue each other are merged. */
struct walk {
    uint8_t *base; /* of the first element */
    uint8_t *at;
    uint8_t dtype;
    uint8_t dimensions; /* at least 1 */
    uint32_t bytes;     /* of an element */
    int64_t row_step;   /* of operands: bytes between partitions */
    uint64_t index[DMA_DIMENSIONS], size[DMA_DIMENSIONS];
    int64_t step[DMA_DIMENSIONS]; /* bytes */
};

void walk_operand(struct walk *walk, const struct core *core, const struct operand *operand);
/* From dimension `first` on; base is the address of the end's element at index 0. */
void walk_end(struct walk *walk, const struct core *core, const struct dma_end *end, unsigned first,
              uint8_t *base);
/* To the beginning of an operand's row; nowhere without an operand. */
static inline void walk_row(struct walk *walk, uint32_t row)
{
    if (!walk->base)
        return;
    walk->at = walk->base + walk->row_step * row;
    for (unsigned i = 0; i < walk->dimensions; i++)
        walk->index[i] = 0;
}
/* Back to the beginning, at another address. */
static inline void walk_from(struct walk *walk, uint8_t *base)
{
    walk->base = base;
    walk_row(walk, 0);
}

static inline int64_t walk_step(const struct walk *walk)
{
    return walk->step[walk->dimensions - 1];
}

/* Elements until the step changes. */
static inline uint64_t walk_left(const struct walk *walk)
{
    return walk->size[walk->dimensions - 1] - walk->index[walk->dimensions - 1];
}

/* Advances by `count` elements, at most walk_left; returns the address of the first. */
static inline uint8_t *walk_next(struct walk *walk, uint64_t count)
{
    uint8_t *first = walk->at;
    unsigned i = walk->dimensions - 1u;
    walk->at += walk->step[i] * (int64_t)count;
    walk->index[i] += count;
    while (walk->index[i] == walk->size[i]) {
        walk->at -= walk->step[i] * (int64_t)walk->size[i];
        walk->index[i] = 0;
        if (i == 0)
            break;
        i--;
        walk->at += walk->step[i];
        walk->index[i]++;
    }
    return first;
}

#endif
