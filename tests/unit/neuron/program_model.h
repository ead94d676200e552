/*
 * A small program that uses every instruction, kind of transfer and table; tests change it.
 */
#ifndef KYMO_UNIT_PROGRAM_MODEL_H
#define KYMO_UNIT_PROGRAM_MODEL_H

#include "neuron/program/neff.h"
#include "support.h"

enum { MODEL_CODE = 24 };

struct model {
    struct core_program program;
    struct instruction code[ENGINE_COUNT][MODEL_CODE];
    struct variable variables[4];
    struct dma_queue queues[2];
    struct dma_descriptor descriptors[4];
    struct dma_block blocks[2];
    struct collective collectives[8];
    uint32_t ranks[4];
    struct collective_move moves[3];
    struct origin origins[2];
    struct source_frame frames[2];
    uint8_t weight[256];
};

/* Rows of `elements` contiguous elements. */
static inline struct operand model_operand(enum memory memory, enum dtype dtype,
                                           unsigned partitions, uint32_t elements)
{
    return (struct operand){.memory = (uint8_t)memory,
                            .dtype = (uint8_t)dtype,
                            .partitions = (uint8_t)partitions,
                            .step = {0, 0, 0, 1},
                            .size = {1, 1, 1, elements}};
}

static inline struct instruction *model_add(struct model *model, enum engine engine,
                                            enum opcode opcode)
{
    struct instruction *item = &model->code[engine][model->program.code_count[engine]++];
    *item = (struct instruction){.opcode = (uint8_t)opcode,
                                 .wait_semaphore = NO_SEMAPHORE,
                                 .update_semaphore = NO_SEMAPHORE};
    return item;
}

static inline void model_tensor_code(struct model *model)
{
    struct instruction *item = model_add(model, ENGINE_TENSOR, OP_LDWEIGHTS);
    item->src[0] = model_operand(MEMORY_SBUF, DTYPE_BF16, 128, 64);
    item->wait_semaphore = 3;
    item->wait_value = 16;
    item = model_add(model, ENGINE_TENSOR, OP_MATMUL);
    item->flags = FLAG_ACCUMULATE;
    item->src[0] = model_operand(MEMORY_SBUF, DTYPE_BF16, 128, 512);
    item->dst = model_operand(MEMORY_PSUM, DTYPE_FP32, 64, 512);
    item->dst.offset = 3 * PSUM_BANK_BYTES;
    item->update_semaphore = 4;
    item->update_value = 1;
    item->update_time = UPDATE_AT_READ;
    item = model_add(model, ENGINE_TENSOR, OP_TRANSPOSE);
    item->src[0] = model_operand(MEMORY_SBUF, DTYPE_BF16, 100, 128);
    item->dst = model_operand(MEMORY_PSUM, DTYPE_BF16, 128, 100);
    item->origin = 1;
}

static inline void model_vector_code(struct model *model)
{
    const struct operand a = model_operand(MEMORY_SBUF, DTYPE_FP32, 128, 100),
                         one = model_operand(MEMORY_SBUF, DTYPE_FP32, 128, 1);
    static const enum opcode opcodes[] = {OP_TENSOR_COPY, OP_TENSOR_TENSOR, OP_TENSOR_SCALAR,
                                          OP_SELECT,      OP_REDUCE,        OP_ACTIVATE,
                                          OP_MEMSET,      OP_IOTA};
    static const unsigned sources[] = {1, 2, 2, 3, 1, 2, 0, 0};
    for (size_t i = 0; i < COUNT_OF(opcodes); i++) {
        struct instruction *item = model_add(model, ENGINE_VECTOR, opcodes[i]);
        item->dst = a;
        for (unsigned k = 0; k < sources[i]; k++)
            item->src[k] = a;
        item->alu = ALU_ADD;
    }
    struct instruction *code = model->code[ENGINE_VECTOR];
    code[2].flags = code[5].flags = FLAG_SCALAR_OPERAND;
    code[2].src[1] = code[5].src[1] = one;
    code[2].alu2 = ALU_MULTIPLY;
    code[2].immediate[1] = 0.5;
    code[4].src[0].size[2] = 3;
    code[4].src[0].step[2] = -1;
    code[4].src[0].offset = 8;
    code[4].src[0].size[0] = 2;
    code[4].count = 2;
    code[4].dst.size[3] = 2;
    code[5].alu = FUNCTION_GELU_TANH;
    code[7].immediate[0] = -1;
}

static inline void model_sync_code(struct model *model)
{
    static const enum opcode opcodes[] = {OP_NOTIFY,
                                          OP_DMA_TRIGGER,
                                          OP_TRIGGER_COLLECTIVE,
                                          OP_EVENT_SEMAPHORE,
                                          OP_TENSOR_LOAD,
                                          OP_REGISTER_ALU,
                                          OP_SEMAPHORE_RANGE_CLEAR,
                                          OP_NOP,
                                          OP_DRAIN,
                                          OP_COMPARE_BRANCH,
                                          OP_NOTIFY};
    for (size_t i = 0; i < COUNT_OF(opcodes); i++)
        model_add(model, ENGINE_SYNC, opcodes[i]);
    struct instruction *code = model->code[ENGINE_SYNC];
    code[1].index = 1;
    code[3].wait_semaphore = 255;
    code[3].wait_value = UINT32_MAX;
    code[4].src[0] = model_operand(MEMORY_SBUF, DTYPE_INT32, 1, 1);
    code[4].index = 31;
    code[5].alu = ALU_SUBTRACT;
    code[5].immediate_int[0] = INT64_MIN;
    code[6].index = 200;
    code[6].count = 56;
    code[9].alu = ALU_GREATER;
    code[9].target = 1;
    code[10].index = 1;
    code[10].origin = NO_INDEX;
}

static inline void model_transfers(struct model *model)
{
    const struct dma_end memory = {.memory = MEMORY_HBM,
                                   .dtype = DTYPE_FP32,
                                   .offset_register = NO_REGISTER,
                                   .step = {8, 0, 0, 0, 1},
                                   .size = {8, 1, 1, 1, 8}},
                         chip = {.memory = MEMORY_SBUF,
                                 .dtype = DTYPE_BF16,
                                 .offset_register = NO_REGISTER,
                                 .partition = 120,
                                 .offset = 64,
                                 .step = {1, 0, 0, 0, 1},
                                 .size = {8, 1, 1, 1, 8}};
    for (size_t i = 0; i < COUNT_OF(model->descriptors); i++)
        model->descriptors[i] = (struct dma_descriptor){.from = memory, .to = chip};
    struct dma_descriptor *items = model->descriptors;
    items[1].from.variable = 2;
    items[1].from.offset = 31 * 4;
    items[1].from.step[4] = -1;
    items[1].from.step[0] = 1;
    items[2].indirect = DMA_GATHER;
    items[2].from.variable = 2;
    items[2].from.step[0] = 0;
    items[2].from.register_step = 32;
    items[2].index_limit = 8;
    items[2].indices = model_operand(MEMORY_SBUF, DTYPE_INT32, 8, 1);
    items[3].from = chip;
    items[3].to = memory;
    items[3].to.variable = 1;
    items[3].operation = DMA_ADD;
    items[3].to.offset_register = 31;
    items[3].to.register_step = 4;
    model->blocks[0] = (struct dma_block){0, 2, 0, 5, 16};
    model->blocks[1] = (struct dma_block){2, 2, 1, NO_SEMAPHORE, 0};
    model->queues[0] = (struct dma_queue){"qSyncIO0", QUEUE_IN, ENGINE_SYNC, 16, 0};
    model->queues[1] = (struct dma_queue){"qGpSimdDynamic", QUEUE_DYNAMIC, ENGINE_GPSIMD, 3, 15};
}

static inline void model_collectives(struct model *model)
{
    for (uint32_t i = 0; i < 4; i++)
        model->ranks[i] = (i + 1) % 4;
    for (unsigned i = 0; i <= COLLECTIVE_ALL_TO_ALL_V; i++)
        model->collectives[i] = (struct collective){.kind = (uint8_t)i,
                                                    .dtype = DTYPE_FP32,
                                                    .alu = ALU_MAX,
                                                    .semaphore = (uint16_t)i,
                                                    .increment = 2,
                                                    .input = 0,
                                                    .output = 3,
                                                    .input_bytes = 64,
                                                    .output_bytes = 64,
                                                    .group_size = 2,
                                                    .group_count = 2,
                                                    .members = model->ranks,
                                                    .channel = 7};
    model->collectives[COLLECTIVE_ALL_GATHER].output_bytes = 128;
    model->collectives[COLLECTIVE_REDUCE_SCATTER].input_bytes = 128;
    struct collective *all = &model->collectives[COLLECTIVE_ALL_REDUCE];
    all->group_count = all->group_size = 0;
    all->members = NULL;
    struct collective *barrier = &model->collectives[COLLECTIVE_BARRIER];
    barrier->input_bytes = barrier->output_bytes = 0;
    /* Groups are 1, 2 and 3, 0. */
    model->moves[0] = (struct collective_move){0, 3, 8, 0, 16};
    model->moves[1] = (struct collective_move){1, 1, 0, 60, 4};
    model->moves[2] = (struct collective_move){1, 2, 0, 0, 64};
    model->collectives[COLLECTIVE_ALL_TO_ALL_V].moves = model->moves;
    model->collectives[COLLECTIVE_ALL_TO_ALL_V].move_count = 3;
}

static inline void model_make(struct model *model)
{
    *model = (struct model){0};
    model->variables[0] = (struct variable){.name = "input0",
                                            .kind = VARIABLE_INPUT,
                                            .dtype = DTYPE_FP32,
                                            .rank = 2,
                                            .shape = {8, 8},
                                            .size = 256,
                                            .layer = ""};
    model->variables[1] = (struct variable){.name = "output0",
                                            .kind = VARIABLE_OUTPUT,
                                            .dtype = DTYPE_FP32,
                                            .rank = 3,
                                            .shape = {4, 4, 4},
                                            .size = 256,
                                            .layer = ""};
    model->variables[2] = (struct variable){.name = "w \"0\"/x",
                                            .kind = VARIABLE_WEIGHT,
                                            .dtype = DTYPE_FP32,
                                            .rank = 1,
                                            .shape = {64},
                                            .size = 256,
                                            .layer = "/gpt/block0",
                                            .data = model->weight};
    model->variables[3] = (struct variable){.name = "spill",
                                            .kind = VARIABLE_VIRTUAL,
                                            .dtype = DTYPE_BF16,
                                            .size = 512,
                                            .layer = "",
                                            .backing_offset = 1024};
    for (size_t i = 0; i < sizeof model->weight; i++)
        model->weight[i] = (uint8_t)(i * 7);
    model_tensor_code(model);
    model_vector_code(model);
    model_sync_code(model);
    model_transfers(model);
    model_collectives(model);
    model->origins[0] =
        (struct origin){"/gpt/block0", "dot.1", "dot", "jit(f)/dot", "m.py", 12, 2, 2000};
    model->origins[1] = (struct origin){"", "add.2", "add", "", "", 0, 0, 48};
    model->frames[0] = (struct source_frame){"main", "m.py", 40, 1, 0};
    model->frames[1] = (struct source_frame){"layer", "m.py", 12, 5, 1};
    struct core_program *program = &model->program;
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        program->code[i] = model->code[i];
    program->descriptors = model->descriptors;
    program->descriptor_count = COUNT_OF(model->descriptors);
    program->blocks = model->blocks;
    program->block_count = COUNT_OF(model->blocks);
    program->queues = model->queues;
    program->queue_count = COUNT_OF(model->queues);
    program->variables = model->variables;
    program->variable_count = COUNT_OF(model->variables);
    program->collectives = model->collectives;
    program->collective_count = COUNT_OF(model->collectives);
    program->origins = model->origins;
    program->origin_count = COUNT_OF(model->origins);
    program->frames = model->frames;
    program->frame_count = COUNT_OF(model->frames);
    program->scratchpad_bytes = 1536;
    program->core_version = 3;
}

#endif
