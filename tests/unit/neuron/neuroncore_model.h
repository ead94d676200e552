/*
 * Shared by the tests of the simulated core: programs built by hand, and their runs with all
 * notifications kept.
 */
#ifndef KYMO_UNIT_NEURONCORE_MODEL_H
#define KYMO_UNIT_NEURONCORE_MODEL_H

#include "neuron/simulator/neuroncore.h"

#include "support.h"

enum { MODEL_CODE = 64, MODEL_PARTS = 64, MODEL_VARIABLES = 8 };

struct model {
    struct core_program program;
    struct instruction code[ENGINE_COUNT][MODEL_CODE];
    struct dma_descriptor descriptors[MODEL_PARTS];
    struct dma_block blocks[MODEL_PARTS];
    struct dma_queue queues[4];
    struct variable variables[MODEL_VARIABLES];
    struct collective collectives[4];
    uint8_t *memory[MODEL_VARIABLES]; /* of the variables */
};

static inline struct model *model_new(uint32_t version)
{
    struct model *model = calloc(1, sizeof *model);
    struct core_program *program = &model->program;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        program->code[e] = model->code[e];
    program->descriptors = model->descriptors;
    program->blocks = model->blocks;
    program->queues = model->queues;
    program->variables = model->variables;
    program->collectives = model->collectives;
    program->core_version = version;
    program->queue_count = 1;
    model->queues[0] = (struct dma_queue){.name = "qSyncIO0", .engine = ENGINE_SYNC, .rings = 16};
    return model;
}

static inline void model_free(struct model *model)
{
    for (unsigned i = 0; i < MODEL_VARIABLES; i++)
        free(model->memory[i]);
    free(model);
}

static inline struct instruction *model_add(struct model *model, enum engine engine,
                                            enum opcode opcode)
{
    struct instruction *instruction = &model->code[engine][model->program.code_count[engine]++];
    assert_true(model->program.code_count[engine] <= MODEL_CODE);
    *instruction = (struct instruction){.opcode = (uint8_t)opcode,
                                        .origin = NO_INDEX,
                                        .wait_semaphore = NO_SEMAPHORE,
                                        .update_semaphore = NO_SEMAPHORE};
    return instruction;
}

static inline void wait_for(struct instruction *instruction, uint16_t semaphore, uint32_t value)
{
    instruction->wait_semaphore = semaphore;
    instruction->wait_value = value;
}

static inline void then_add(struct instruction *instruction, uint16_t semaphore, uint32_t value)
{
    instruction->update_semaphore = semaphore;
    instruction->update_value = value;
}

/* Contiguous elements in each of the partitions. */
static inline struct operand on_chip(enum memory memory, enum dtype dtype, uint32_t partition,
                                     uint32_t partitions, uint32_t offset, uint32_t elements)
{
    return (struct operand){.memory = (uint8_t)memory,
                            .dtype = (uint8_t)dtype,
                            .partition = (uint8_t)partition,
                            .partitions = (uint8_t)partitions,
                            .offset = offset,
                            .step = {0, 0, 0, 1},
                            .size = {1, 1, 1, elements}};
}

static inline uint32_t model_variable(struct model *model, enum variable_kind kind,
                                      enum dtype dtype, uint64_t elements)
{
    static const char *const names[MODEL_VARIABLES] = {"v0", "v1", "v2", "v3",
                                                       "v4", "v5", "v6", "v7"};
    uint32_t index = model->program.variable_count++;
    assert_true(index < MODEL_VARIABLES);
    uint64_t size = elements * dtype_bytes(dtype);
    model->variables[index] = (struct variable){.name = names[index],
                                                .kind = (uint8_t)kind,
                                                .dtype = (uint8_t)dtype,
                                                .rank = 1,
                                                .shape = {(uint32_t)elements},
                                                .size = size,
                                                .layer = ""};
    model->memory[index] = calloc(1, size ? size : 1);
    return index;
}

/* Rows of contiguous elements: of partitions, or of a variable. */
static inline struct dma_end dma_rows(enum memory memory, enum dtype dtype, uint32_t rows,
                                      uint32_t elements)
{
    return (struct dma_end){.memory = (uint8_t)memory,
                            .dtype = (uint8_t)dtype,
                            .offset_register = NO_REGISTER,
                            .step = {memory == MEMORY_HBM ? elements : 1, 0, 0, 0, 1},
                            .size = {rows, 1, 1, 1, elements}};
}

/* A block of its own. */
static inline uint32_t model_block(struct model *model, struct dma_end from, struct dma_end to,
                                   uint16_t semaphore)
{
    uint32_t descriptor = model->program.descriptor_count++, block = model->program.block_count++;
    model->descriptors[descriptor] = (struct dma_descriptor){.from = from, .to = to};
    model->blocks[block] =
        (struct dma_block){.first = descriptor, .count = 1, .semaphore = semaphore, .increment = 1};
    return block;
}

static inline struct instruction *model_dma(struct model *model, enum engine engine,
                                            struct dma_end from, struct dma_end to,
                                            uint16_t semaphore)
{
    struct instruction *trigger = model_add(model, engine, OP_DMA_TRIGGER);
    trigger->index = model_block(model, from, to, semaphore);
    return trigger;
}

/* A run and what came of it. */
struct outcome {
    struct core_result result;
    struct notification *items;
    size_t count, capacity;
};

static inline void outcome_take(void *context, const struct notification *items, size_t count)
{
    struct outcome *outcome = context;
    if (outcome->count + count > outcome->capacity) {
        outcome->capacity = 2 * (outcome->count + count);
        outcome->items = realloc(outcome->items, outcome->capacity * sizeof *items);
    }
    memcpy(outcome->items + outcome->count, items, count * sizeof *items);
    outcome->count += count;
}

static inline void outcome_free(struct outcome *outcome)
{
    free(outcome->items);
    *outcome = (struct outcome){0};
}

static inline struct core *model_core(const struct model *model, bool compute)
{
    return core_new(&(struct core_options){.hardware = hardware_core(model->program.core_version),
                                           .compute = compute,
                                           .cores_on_stack = 1,
                                           .check_numbers = true});
}

static inline void model_run_on(struct core *core, struct model *model, struct outcome *outcome,
                                uint64_t timeout)
{
    struct core_run run = {.program = &model->program,
                           .variables = model->memory,
                           .timeout_ticks = timeout,
                           .notify = outcome_take,
                           .notify_context = outcome,
                           .dge_notifications = true};
    *outcome = (struct outcome){0};
    core_execute(core, &run, &outcome->result);
}

static inline void model_run(struct model *model, bool compute, struct outcome *outcome)
{
    struct core *core = model_core(model, compute);
    model_run_on(core, model, outcome, 0);
    core_free(core);
}

static inline const struct notification *outcome_find(const struct outcome *outcome,
                                                      enum notification_type type,
                                                      enum notification_phase phase, uint32_t unit,
                                                      uint32_t id)
{
    for (size_t i = 0; i < outcome->count; i++) {
        const struct notification *n = &outcome->items[i];
        if (n->type == type && n->phase == phase && n->unit == unit && n->id == id)
            return n;
    }
    return NULL;
}

/* When an engine's instruction started and was complete. */
static inline uint64_t started(const struct outcome *outcome, enum engine engine, uint32_t pc)
{
    const struct notification *n =
        outcome_find(outcome, NOTIFICATION_TRACE, PHASE_START, engine, pc);
    assert_non_null(n);
    return n->time;
}

static inline uint64_t completed(const struct outcome *outcome, enum engine engine, uint32_t pc)
{
    const struct notification *n = outcome_find(outcome, NOTIFICATION_TRACE, PHASE_END, engine, pc);
    assert_non_null(n);
    return n->time;
}

#endif
