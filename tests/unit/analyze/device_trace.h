/*
 * Device profiles made by hand: a program and what a core did, whose answers are known. Times are
 * in nanoseconds; what instructions and transfers do is given, not worked out.
 */
#ifndef KYMO_UNIT_DEVICE_TRACE_H
#define KYMO_UNIT_DEVICE_TRACE_H

#include "analyze/device/device.h"

#include "../neuron/neuroncore_model.h"

struct trace {
    struct model *model;
    struct device_profile profile;
    struct device_execution execution;
    struct instruction_facts facts[ENGINE_COUNT][MODEL_CODE];
    struct descriptor_facts descriptors[MODEL_PARTS];
    struct origin origins[8];
};

static inline struct trace *trace_new(uint32_t version, int64_t end_ns)
{
    struct trace *trace = calloc(1, sizeof *trace);
    trace->model = model_new(version);
    trace->profile.program = &trace->model->program;
    trace->profile.hardware = hardware_core(version);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        trace->profile.facts[e] = trace->facts[e];
    trace->profile.descriptors = trace->descriptors;
    trace->model->program.origins = trace->origins;
    trace->execution.end_ps = end_ns * 1000;
    return trace;
}

static inline void trace_free(struct trace *trace)
{
    struct device_execution *execution = &trace->execution;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        array_free(&execution->instructions[e]);
    array_free(&execution->transfers);
    array_free(&execution->blocks);
    array_free(&execution->collectives);
    array_free(&execution->cc_steps);
    array_free(&execution->updates);
    array_free(&execution->errors);
    array_free(&execution->throttles);
    mem_free(trace->profile.block_facts);
    array_free(&trace->profile.hbm_accesses);
    model_free(trace->model);
    free(trace);
}

static inline uint32_t trace_origin(struct trace *trace, const char *layer, const char *operation,
                                    uint64_t model_flops)
{
    uint32_t index = trace->model->program.origin_count++;
    trace->origins[index] = (struct origin){.layer = layer,
                                            .operation = operation,
                                            .opcode = "",
                                            .framework = "",
                                            .file = "",
                                            .model_flops = model_flops};
    return index;
}

/* A new instruction that runs once; its facts are to be filled in. */
static inline struct instruction_facts *trace_run(struct trace *trace, enum engine engine,
                                                  enum opcode opcode, int64_t start_ns,
                                                  int64_t end_ns)
{
    struct device_execution *execution = &trace->execution;
    uint32_t pc = trace->model->program.code_count[engine];
    model_add(trace->model, engine, opcode);
    *array_push(&execution->instructions[engine]) =
        (struct device_instruction){.start_ps = start_ns * 1000, .end_ps = end_ns * 1000, .pc = pc};
    struct instruction_facts *facts = &trace->facts[engine][pc];
    facts->is_overhead = opcode == OP_NOP || opcode >= OP_DMA_TRIGGER;
    facts->is_transpose = opcode == OP_TRANSPOSE;
    facts->is_matmul = opcode == OP_MATMUL || opcode == OP_TRANSPOSE;
    return facts;
}

static inline struct device_instruction *trace_last(struct trace *trace, enum engine engine)
{
    return &trace->execution.instructions[engine]
                .items[trace->execution.instructions[engine].count - 1];
}

static inline struct instruction *trace_code(struct trace *trace, enum engine engine)
{
    return &trace->model->code[engine][trace_last(trace, engine)->pc];
}

/* A transfer between a variable and SBUF. */
static inline uint32_t trace_descriptor(struct trace *trace, uint32_t variable, bool is_load,
                                        uint64_t bytes, enum dma_queue_type type)
{
    uint32_t index = trace->model->program.descriptor_count++;
    struct dma_end hbm = dma_rows(MEMORY_HBM, DTYPE_UINT8, 1, (uint32_t)bytes);
    struct dma_end chip = dma_rows(MEMORY_SBUF, DTYPE_UINT8, 1, (uint32_t)bytes);
    hbm.variable = variable;
    trace->model->descriptors[index] =
        (struct dma_descriptor){.from = is_load ? hbm : chip, .to = is_load ? chip : hbm};
    bool is_virtual = trace->model->variables[variable].kind == VARIABLE_VIRTUAL;
    trace->descriptors[index] = (struct descriptor_facts){.bytes = bytes,
                                                          .read = bytes,
                                                          .written = bytes,
                                                          .hbm_read = is_load ? bytes : 0,
                                                          .hbm_write = is_load ? 0 : bytes,
                                                          .sbuf_read = is_load ? 0 : bytes,
                                                          .sbuf_write = is_load ? bytes : 0,
                                                          .variable = variable,
                                                          .queue_type = (uint8_t)type,
                                                          .is_spill_save = is_virtual && !is_load,
                                                          .is_spill_reload = is_virtual && is_load};
    return index;
}

/* A run of a block of its own; transfers of it follow, each on a DMA engine, in their order. */
static inline uint32_t trace_block(struct trace *trace, uint32_t first, uint32_t count,
                                   uint64_t bytes, int64_t start_ns, int64_t end_ns)
{
    uint32_t block = trace->model->program.block_count++;
    trace->model->blocks[block] =
        (struct dma_block){.first = first, .count = count, .semaphore = NO_SEMAPHORE};
    *array_push(&trace->execution.blocks) = (struct device_block){.start_ps = start_ns * 1000,
                                                                  .end_ps = end_ns * 1000,
                                                                  .block = block,
                                                                  .trigger = NO_INDEX,
                                                                  .bytes = bytes};
    device_find_block_facts(&trace->profile);
    return (uint32_t)trace->execution.blocks.count - 1;
}

static inline void trace_transfer(struct trace *trace, uint32_t run, uint32_t descriptor,
                                  unsigned engine, int64_t start_ns, int64_t end_ns)
{
    *array_push(&trace->execution.transfers) = (struct device_transfer){.start_ps = start_ns * 1000,
                                                                        .end_ps = end_ns * 1000,
                                                                        .descriptor = descriptor,
                                                                        .run = run,
                                                                        .engine = (uint8_t)engine};
}

/* By default nobody knows who made it. */
static inline struct device_update *trace_update(struct trace *trace, uint32_t semaphore,
                                                 uint32_t value, int64_t time_ns)
{
    struct device_update *update = array_push(&trace->execution.updates);
    *update = (struct device_update){.time_ps = time_ns * 1000,
                                     .semaphore = semaphore,
                                     .value = value,
                                     .instruction = NO_INDEX,
                                     .block = NO_INDEX,
                                     .collective = NO_INDEX};
    return update;
}

#endif
