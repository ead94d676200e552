/*
 * Walking over elements.
 */
#include "neuron/simulator/walk.h"

/* Adds one more dimension, inside the existing ones. */
static void add_dimension(struct walk *walk, uint64_t size, int64_t step)
{
    if (size == 1)
        return;
    unsigned last = walk->dimensions - 1u;
    if (walk->dimensions > 0 && walk->step[last] == step * (int64_t)size) {
        walk->size[last] *= size;
        walk->step[last] = step;
        return;
    }
    walk->size[walk->dimensions] = size;
    walk->step[walk->dimensions++] = step;
}

static void complete(struct walk *walk)
{
    if (walk->dimensions == 0) {
        walk->dimensions = 1;
        walk->size[0] = 1;
        walk->step[0] = walk->bytes;
    }
    walk_row(walk, 0);
}

void walk_operand(struct walk *walk, const struct core *core, const struct operand *operand)
{
    uint32_t stride = memory_stride(core, operand->memory);
    walk->dtype = operand->dtype;
    walk->bytes = dtype_bytes(operand->dtype);
    walk->row_step = stride;
    walk->base =
        memory_base(core, operand->memory) + (size_t)operand->partition * stride + operand->offset;
    walk->dimensions = 0;
    for (unsigned i = 0; i < 4; i++)
        add_dimension(walk, operand->size[i], (int64_t)operand->step[i] * walk->bytes);
    complete(walk);
}

void walk_end(struct walk *walk, const struct core *core, const struct dma_end *end, unsigned first,
              uint8_t *base)
{
    walk->dtype = end->dtype;
    walk->bytes = dtype_bytes(end->dtype);
    walk->row_step = 0;
    walk->base = base;
    walk->dimensions = 0;
    for (unsigned i = first; i < DMA_DIMENSIONS; i++) {
        int64_t unit =
            i == 0 && end->memory != MEMORY_HBM ? memory_stride(core, end->memory) : walk->bytes;
        add_dimension(walk, end->size[i], end->step[i] * unit);
    }
    complete(walk);
}
