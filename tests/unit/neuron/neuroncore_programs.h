/*
 * Parts of programs for tests of time: instructions with operands of no interest, and DMA.
 */
#ifndef KYMO_UNIT_NEURONCORE_PROGRAMS_H
#define KYMO_UNIT_NEURONCORE_PROGRAMS_H

#include "neuroncore_model.h"

static inline struct instruction *matmul(struct model *model, enum dtype dtype, uint32_t columns)
{
    struct instruction *instruction = model_add(model, ENGINE_TENSOR, OP_MATMUL);
    instruction->src[0] = on_chip(MEMORY_SBUF, dtype, 0, 128, 0, columns);
    instruction->dst = on_chip(MEMORY_PSUM, DTYPE_FP32, 0, 128, 0, columns);
    return instruction;
}

static inline struct instruction *load_weights(struct model *model, enum dtype dtype)
{
    struct instruction *instruction = model_add(model, ENGINE_TENSOR, OP_LDWEIGHTS);
    instruction->src[0] = on_chip(MEMORY_SBUF, dtype, 0, 128, 8192, 128);
    return instruction;
}

static inline struct instruction *copy(struct model *model, enum engine engine, enum dtype dtype,
                                       uint32_t elements, uint32_t from, uint32_t to)
{
    struct instruction *instruction = model_add(model, engine, OP_TENSOR_COPY);
    instruction->src[0] = on_chip(MEMORY_SBUF, dtype, 0, 128, from, elements);
    instruction->dst = on_chip(MEMORY_SBUF, dtype, 0, 128, to, elements);
    return instruction;
}

static inline void run_checked(struct model *model, struct outcome *outcome)
{
    struct error err;
    if (!program_check(&model->program, &err))
        fail_msg("%s", err.text);
    model_run(model, false, outcome);
}

static inline struct model *dma_model(uint32_t version, uint32_t rows, uint32_t row_bytes,
                                      uint32_t descriptors)
{
    struct model *model = model_new(version);
    uint32_t in = model_variable(model, VARIABLE_INPUT, DTYPE_UINT8, (uint64_t)rows * row_bytes);
    struct dma_end from = dma_rows(MEMORY_HBM, DTYPE_UINT8, rows, row_bytes);
    from.variable = in;
    model_dma(model, ENGINE_SYNC, from, dma_rows(MEMORY_SBUF, DTYPE_UINT8, rows, row_bytes), 1);
    for (uint32_t i = 1; i < descriptors; i++)
        model->descriptors[model->program.descriptor_count++] = model->descriptors[0];
    model->blocks[0].count = descriptors;
    return model;
}

static inline uint64_t dma_ticks(uint64_t bytes, uint32_t ticks_per_us, uint64_t bytes_per_us)
{
    return (bytes * ticks_per_us + bytes_per_us - 1) / bytes_per_us;
}

#endif
