/*
 * How long things take: the published rules (docs/neuroncore.md), in cycles of the engine.
 */
#ifndef KYMO_NEURON_SIMULATOR_TIMING_H
#define KYMO_NEURON_SIMULATOR_TIMING_H

#include "neuron/simulator/state.h"

enum {
    SEQUENCER_CYCLES = 16, /* an instruction of the sequencer alone */
    TRIGGER_CYCLES = 32,   /* writing a doorbell */
    LOAD_CYCLES = 60,      /* access to SBUF */
    MINIMUM_CYCLES = 64,   /* of an instruction with operands, and of a matmul */
    STATIC_CYCLES = 100,   /* from the last element to the result */
    ARRAY_CYCLES = 128,    /* through the rows of the Tensor engine's array */
    DMA_START_NS = 1300,   /* from the trigger to the first byte */
    DMA_END_NS = 700,      /* from the last byte to the semaphore: 2 us are fixed */
    DMA_RUN_BYTES = 256,   /* cost of each contiguous piece in addition to its bytes */
    DGE_NS = 600,          /* a dynamic DMA instruction */
    DGE_INDEX_CYCLES = 16, /* of GpSimd, each index of a gather or scatter */
    THROTTLE_NS = 3000,
};

/* Cycles of an engine. */
struct cost {
    uint64_t interval; /* until the next instruction can start */
    uint64_t latency;  /* until it is complete */
};
struct cost instruction_cost(const struct core *core, enum engine engine,
                             const struct instruction *instruction);

struct transfer_cost {
    uint64_t ticks;     /* of a DMA engine; 0: not computed yet */
    uint64_t hbm_ticks; /* of the stack's share */
    uint64_t bytes;     /* that are written */
};
struct transfer_cost descriptor_cost(const struct core *core,
                                     const struct dma_descriptor *descriptor);

/* Elements of one partition. */
static inline uint64_t operand_elements(const struct operand *operand)
{
    return (uint64_t)operand->size[0] * operand->size[1] * operand->size[2] * operand->size[3];
}
struct core_extent operand_extent(const struct operand *operand);
static inline bool extents_meet(const struct core_extent *a, const struct core_extent *b)
{
    return a->memory == b->memory && a->begin < b->end && b->begin < a->end &&
           a->partition < b->partition + b->partitions &&
           b->partition < a->partition + a->partitions;
}

#endif
