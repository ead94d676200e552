/*
 * Shared by the tests of the runtime: small NEFFs, made in memory, and a machine of its own for
 * each test program.
 */
#ifndef KYMO_UNIT_RUNTIME_MODEL_H
#define KYMO_UNIT_RUNTIME_MODEL_H

#include "neuron/program/neff.h"
#include "support.h"

#include <malloc.h>
#include <nrt/nrt.h>

enum { ROWS = 8, COLUMNS = 16, ELEMENTS = ROWS * COLUMNS, TENSOR_BYTES = ELEMENTS * 4 };
enum { NRT_MODEL_RANKS_MAX = 8 };

struct small_program {
    struct core_program program;
    struct instruction sync[8], vector[2];
    struct variable variables[4];
    struct dma_queue queue;
    struct dma_descriptor descriptors[3];
    struct dma_block blocks[2];
    struct collective collective;
    struct origin origin;
    float weight[ELEMENTS];
};

static inline struct instruction small_instruction(enum opcode opcode, uint32_t index)
{
    return (struct instruction){.opcode = (uint8_t)opcode,
                                .index = index,
                                .wait_semaphore = NO_SEMAPHORE,
                                .update_semaphore = NO_SEMAPHORE};
}

static inline struct variable small_variable(const char *name, enum variable_kind kind)
{
    return (struct variable){.name = name,
                             .kind = (uint8_t)kind,
                             .dtype = DTYPE_FP32,
                             .rank = 2,
                             .shape = {ROWS, COLUMNS},
                             .size = TENSOR_BYTES,
                             .layer = ""};
}

static inline struct dma_end small_end(enum memory memory, uint32_t variable, uint64_t offset)
{
    bool is_hbm = memory == MEMORY_HBM;
    return (struct dma_end){.memory = (uint8_t)memory,
                            .dtype = DTYPE_FP32,
                            .variable = variable,
                            .offset = offset,
                            .offset_register = NO_REGISTER,
                            .step = {is_hbm ? COLUMNS : 1, 0, 0, 0, 1},
                            .size = {ROWS, 1, 1, 1, COLUMNS}};
}

static inline struct operand small_operand(uint32_t offset)
{
    return (struct operand){.memory = MEMORY_SBUF,
                            .dtype = DTYPE_FP32,
                            .partitions = ROWS,
                            .offset = offset,
                            .step = {0, 0, 0, 1},
                            .size = {1, 1, 1, COLUMNS}};
}

/* output0 = input0 alu weight, where weight[i] = i. */
static inline void small_code(struct small_program *small, enum alu alu)
{
    enum { IN = 0, WEIGHT = COLUMNS * 4, OUT = 2 * COLUMNS * 4 };
    struct instruction *sync = small->sync;
    sync[0] = small_instruction(OP_DMA_TRIGGER, 0);
    sync[1] = small_instruction(OP_DMA_TRIGGER, 1);
    sync[1].wait_semaphore = 1;
    sync[1].wait_value = 1;
    sync[2] = small_instruction(OP_EVENT_SEMAPHORE, 0);
    sync[2].wait_semaphore = 2;
    sync[2].wait_value = 1;
    sync[3] = small_instruction(OP_NOTIFY, 1);
    small->program.code_count[ENGINE_SYNC] = 4;
    small->vector[0] = small_instruction(OP_TENSOR_TENSOR, 0);
    small->vector[0].alu = (uint8_t)alu;
    small->vector[0].dst = small_operand(OUT);
    small->vector[0].src[0] = small_operand(IN);
    small->vector[0].src[1] = small_operand(WEIGHT);
    small->vector[0].wait_semaphore = 0;
    small->vector[0].wait_value = 1;
    small->vector[0].update_semaphore = 1;
    small->vector[0].update_value = 1;
    small->program.code_count[ENGINE_VECTOR] = 1;
    small->descriptors[0] = (struct dma_descriptor){.from = small_end(MEMORY_HBM, 0, 0),
                                                    .to = small_end(MEMORY_SBUF, 0, IN)};
    small->descriptors[1] = (struct dma_descriptor){.from = small_end(MEMORY_HBM, 2, 0),
                                                    .to = small_end(MEMORY_SBUF, 0, WEIGHT)};
    small->descriptors[2] = (struct dma_descriptor){.from = small_end(MEMORY_SBUF, 0, OUT),
                                                    .to = small_end(MEMORY_HBM, 1, 0)};
    small->blocks[0] = (struct dma_block){0, 2, 0, 0, 1};
    small->blocks[1] = (struct dma_block){2, 1, 0, 2, 1};
    small->queue = (struct dma_queue){"qSyncIO0", QUEUE_DATA, ENGINE_SYNC, 4, 0};
    small->program.descriptor_count = 3;
    small->program.block_count = 2;
    small->program.queue_count = 1;
}

/* output0 = input0 summed over all ranks. */
static inline void small_collective_code(struct small_program *small)
{
    struct instruction *sync = small->sync;
    sync[0] = small_instruction(OP_TRIGGER_COLLECTIVE, 0);
    sync[1] = small_instruction(OP_EVENT_SEMAPHORE, 0);
    sync[1].wait_semaphore = 0;
    sync[1].wait_value = 1;
    small->program.code_count[ENGINE_SYNC] = 2;
    small->collective = (struct collective){.kind = COLLECTIVE_ALL_REDUCE,
                                            .dtype = DTYPE_FP32,
                                            .alu = ALU_ADD,
                                            .semaphore = 0,
                                            .increment = 1,
                                            .input = 0,
                                            .output = 1,
                                            .input_bytes = TENSOR_BYTES,
                                            .output_bytes = TENSOR_BYTES};
    small->program.collective_count = 1;
}

static inline void small_tables(struct small_program *small, uint32_t core_version)
{
    struct core_program *program = &small->program;
    small->variables[0] = small_variable("input0", VARIABLE_INPUT);
    small->variables[1] = small_variable("output0", VARIABLE_OUTPUT);
    small->variables[2] = small_variable("weight", VARIABLE_WEIGHT);
    small->variables[2].data = (const uint8_t *)small->weight;
    small->variables[3] = small_variable("spill", VARIABLE_VIRTUAL);
    for (int i = 0; i < ELEMENTS; i++)
        small->weight[i] = (float)i;
    small->origin = (struct origin){"/layer", "add.1", "add", "", "", 0, 0, 0};
    program->code[ENGINE_SYNC] = small->sync;
    program->code[ENGINE_VECTOR] = small->vector;
    program->variables = small->variables;
    program->variable_count = 4;
    program->queues = &small->queue;
    program->descriptors = small->descriptors;
    program->blocks = small->blocks;
    program->collectives = &small->collective;
    program->origins = &small->origin;
    program->origin_count = 1;
    program->scratchpad_bytes = TENSOR_BYTES;
    program->core_version = core_version;
}

struct small_neff {
    uint8_t *bytes;
    size_t size;
};

struct small_options {
    enum alu alu;          /* ALU_NONE: the collective */
    uint32_t workers;      /* 0: 1 */
    uint32_t core_version; /* 0: 2 */
    uint32_t programs;     /* 0: 1 */
    const char *name;      /* NULL: small */
};

static inline struct small_neff small_neff(struct small_options options)
{
    struct small_program *small = calloc(1, sizeof *small);
    if (options.alu == ALU_NONE)
        small_collective_code(small);
    else
        small_code(small, options.alu);
    small_tables(small, options.core_version ? options.core_version : 2);
    uint32_t count = options.programs ? options.programs : 1;
    /* The second core has an output of its own. */
    struct core_program programs[2] = {small->program, small->program};
    struct variable second[4];
    memcpy(second, small->variables, sizeof second);
    second[1].name = "output1";
    programs[1].variables = second;
    const struct neff_source source = {.name = options.name ? options.name : "small",
                                       .programs = programs,
                                       .program_count = count,
                                       .worker_count = options.workers ? options.workers : 1};
    struct small_neff neff;
    struct error err;
    if (!neff_encode(&source, &neff.bytes, &neff.size, &err))
        fail_msg("%s", err.text);
    free(small);
    return neff;
}

/* Cores that no other program shares: a folder for their locks. */
static inline int machine_make(void **state)
{
    int result = scratch_make(state);
    const struct scratch *scratch = *state;
    setenv("XDG_RUNTIME_DIR", scratch->path, 1);
    setenv("NEURON_RT_LOG_LEVEL", "QUIET", 1);
    setenv("KYMO_NEURON_INSTANCE", "trn1.32xlarge", 1);
    setenv("NEURON_RT_VISIBLE_CORES", "4-11", 1);
    return result;
}

static inline int machine_remove(void **state)
{
    return scratch_remove(state);
}

/* A model, its tensors and sets. */
struct loaded {
    nrt_model_t *model;
    nrt_tensor_t *input, *output;
    nrt_tensor_set_t *inputs, *outputs;
};

static inline struct loaded load_with(nrt_model_t *model, int vnc)
{
    struct loaded all = {.model = model};
    assert_int_equal(
        nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, TENSOR_BYTES, "in", &all.input),
        NRT_SUCCESS);
    assert_int_equal(
        nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, TENSOR_BYTES, "out", &all.output),
        NRT_SUCCESS);
    assert_int_equal(nrt_allocate_tensor_set(&all.inputs), NRT_SUCCESS);
    assert_int_equal(nrt_allocate_tensor_set(&all.outputs), NRT_SUCCESS);
    assert_int_equal(nrt_add_tensor_to_tensor_set(all.inputs, "input0", all.input), NRT_SUCCESS);
    assert_int_equal(nrt_add_tensor_to_tensor_set(all.outputs, "output0", all.output), NRT_SUCCESS);
    return all;
}

static inline struct loaded load_small(struct small_neff neff, int vnc)
{
    nrt_model_t *model;
    assert_int_equal(nrt_load(neff.bytes, neff.size, vnc, -1, &model), NRT_SUCCESS);
    return load_with(model, vnc);
}

static inline void unload_small(struct loaded *all)
{
    nrt_destroy_tensor_set(&all->inputs);
    nrt_destroy_tensor_set(&all->outputs);
    nrt_tensor_free(&all->input);
    nrt_tensor_free(&all->output);
    assert_int_equal(nrt_unload(all->model), NRT_SUCCESS);
}

/* input[i] = start + i */
static inline void write_input(const struct loaded *all, float start)
{
    float data[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        data[i] = start + (float)i;
    assert_int_equal(nrt_tensor_write(all->input, data, 0, sizeof data), NRT_SUCCESS);
}

static inline void read_output(const struct loaded *all, float data[static ELEMENTS])
{
    assert_int_equal(nrt_tensor_read(all->output, data, 0, TENSOR_BYTES), NRT_SUCCESS);
}

/* Memory in use: of the process, or, as an emulator has its own in it, from malloc. */
static inline size_t memory_bytes(void)
{
#ifdef KYMO_EMULATOR
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    size_t pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_int_equal(fscanf(file, "%zu %zu", &pages, &resident), 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
#endif
}

#endif
