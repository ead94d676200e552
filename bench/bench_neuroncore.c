/*
 * Measures the simulated core: instructions a second without arithmetic, profiled and not, and
 * matmuls with arithmetic against a plain kernel. Prints `name value` lines; times in seconds.
 */
#include "neuron/simulator/neuroncore.h"
#include "plain_matmul.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    TILES = 20000,
    MATMULS = 6, /* of a tile: K-accumulation */
    DESCRIPTORS = 8,
    RUNS = 7,
    PRODUCTS = 400,
};

/* CPU time: less noisy than elapsed time. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static struct operand rows(enum memory memory, enum dtype dtype, uint32_t offset, uint32_t elements)
{
    return (struct operand){.memory = (uint8_t)memory,
                            .dtype = (uint8_t)dtype,
                            .partitions = 128,
                            .offset = offset,
                            .step = {0, 0, 0, 1},
                            .size = {1, 1, 1, elements}};
}

static struct instruction *add(struct core_program *program, enum engine engine, enum opcode opcode)
{
    struct instruction *instruction = &program->code[engine][program->code_count[engine]++];
    *instruction = (struct instruction){.opcode = (uint8_t)opcode,
                                        .wait_semaphore = NO_SEMAPHORE,
                                        .update_semaphore = NO_SEMAPHORE,
                                        .origin = NO_INDEX};
    return instruction;
}

static void wait_for(struct instruction *instruction, uint16_t semaphore, uint32_t value)
{
    instruction->wait_semaphore = semaphore;
    instruction->wait_value = value;
}

static void then_add(struct instruction *instruction, uint16_t semaphore)
{
    instruction->update_semaphore = semaphore;
    instruction->update_value = 1;
}

/* Tiles of a matrix product as a compiler makes them: loaded by DMA, multiplied, activated,
 * scaled. Engines work on different tiles at a time. */
static void add_tile(struct core_program *program, uint32_t tile)
{
    enum { LOADED = 1, MULTIPLIED, ACTIVATED, SCALED };
    struct instruction *load = add(program, ENGINE_SYNC, OP_DMA_TRIGGER);
    if (tile >= 2)
        wait_for(load, MULTIPLIED, tile - 1);
    for (unsigned k = 0; k < MATMULS; k++) {
        struct instruction *weights = add(program, ENGINE_TENSOR, OP_LDWEIGHTS);
        weights->src[0] = rows(MEMORY_SBUF, DTYPE_BF16, 0, 128);
        if (k == 0)
            wait_for(weights, LOADED, tile + 1);
        struct instruction *matmul = add(program, ENGINE_TENSOR, OP_MATMUL);
        matmul->src[0] = rows(MEMORY_SBUF, DTYPE_BF16, 8192, 512);
        matmul->dst = rows(MEMORY_PSUM, DTYPE_FP32, tile % 8 * 2048, 512);
        matmul->flags = k ? FLAG_ACCUMULATE : 0;
        if (k == 0 && tile >= 8)
            wait_for(matmul, ACTIVATED, tile - 7);
        if (k == MATMULS - 1)
            then_add(matmul, MULTIPLIED);
    }
    struct instruction *activate = add(program, ENGINE_SCALAR, OP_ACTIVATE);
    activate->alu = FUNCTION_RELU;
    activate->immediate[0] = 1;
    activate->src[0] = rows(MEMORY_PSUM, DTYPE_FP32, tile % 8 * 2048, 512);
    activate->dst = rows(MEMORY_SBUF, DTYPE_BF16, 16384, 512);
    wait_for(activate, MULTIPLIED, tile + 1);
    then_add(activate, ACTIVATED);
    struct instruction *scale = add(program, ENGINE_VECTOR, OP_TENSOR_SCALAR);
    scale->alu = ALU_MULTIPLY;
    scale->immediate[0] = 0.5;
    scale->src[0] = activate->dst;
    scale->dst = rows(MEMORY_SBUF, DTYPE_BF16, 32768, 512);
    wait_for(scale, ACTIVATED, tile + 1);
    then_add(scale, SCALED);
}

static struct core_program *make_program(uint32_t version, uint32_t tiles)
{
    struct core_program *program = calloc(1, sizeof *program);
    program->core_version = version;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        program->code[e] = calloc((size_t)tiles * 2 * MATMULS, sizeof **program->code);
    program->variables = calloc(1, sizeof *program->variables);
    program->variable_count = 1;
    program->variables[0] = (struct variable){
        .name = "in", .dtype = DTYPE_BF16, .rank = 1, .shape = {128 * 640}, .size = 128 * 1280};
    program->queues = calloc(1, sizeof *program->queues);
    program->queue_count = 1;
    program->queues[0] = (struct dma_queue){.name = "q", .engine = ENGINE_SYNC, .rings = 16};
    program->descriptor_count = DESCRIPTORS;
    program->descriptors = calloc(DESCRIPTORS, sizeof *program->descriptors);
    for (uint32_t i = 0; i < DESCRIPTORS; i++) {
        struct dma_end end = {.dtype = DTYPE_BF16,
                              .offset_register = NO_REGISTER,
                              .step = {1, 0, 0, 0, 1},
                              .size = {128 / DESCRIPTORS, 1, 1, 1, 640}};
        struct dma_descriptor *descriptor = &program->descriptors[i];
        descriptor->from = descriptor->to = end;
        descriptor->from.memory = MEMORY_HBM;
        descriptor->from.step[0] = 640;
        descriptor->from.offset = i * (128 / DESCRIPTORS) * 1280;
        descriptor->to.memory = MEMORY_SBUF;
        descriptor->to.partition = (uint8_t)(i * (128 / DESCRIPTORS));
    }
    program->block_count = 1;
    program->blocks = calloc(1, sizeof *program->blocks);
    program->blocks[0] = (struct dma_block){.count = DESCRIPTORS, .semaphore = 1, .increment = 1};
    for (uint32_t tile = 0; tile < tiles; tile++)
        add_tile(program, tile);
    return program;
}

static void count_notifications(void *context, const struct notification *items, size_t count)
{
    (void)items;
    *(size_t *)context += count;
}

static double run(struct core *core, const struct core_run *run, struct core_result *result)
{
    double start = now();
    core_execute(core, run, result);
    if (result->status != 0) {
        fprintf(stderr, "%s\n", result->message);
        exit(1);
    }
    return now() - start;
}

static void measure_instructions(uint32_t version)
{
    struct core_program *program = make_program(version, TILES);
    struct core *core =
        core_new(&(struct core_options){.hardware = hardware_core(version), .cores_on_stack = 1});
    struct core_result result;
    size_t count = 0;
    struct core_run plain = {.program = program}, profiled = plain;
    profiled.notify = count_notifications;
    profiled.notify_context = &count;
    double best = 1e9, best_profiled = 1e9;
    for (int i = 0; i < RUNS; i++) {
        double time = run(core, &plain, &result), time_profiled = run(core, &profiled, &result);
        best = time < best ? time : best;
        best_profiled = time_profiled < best_profiled ? time_profiled : best_profiled;
    }
    printf("v%u_instructions %llu\nv%u_seconds %.6f\nv%u_profiled %.6f\nv%u_notifications %zu\n",
           version, (unsigned long long)result.instructions, version, best, version, best_profiled,
           version, count / RUNS);
    core_free(core);
}

/* PRODUCTS matmuls of 128 x 128 by 128 x 512, of FP32 and of BF16, and the same by the plain
 * kernel. */
static void measure_matmul(void)
{
    struct core_program *program = make_program(2, PRODUCTS / MATMULS);
    uint8_t *input = calloc(1, 128 * 1280), *variables[] = {input};
    struct core *core = core_new(
        &(struct core_options){.hardware = hardware_core(2), .compute = true, .cores_on_stack = 1});
    struct core_result result;
    size_t count = 0;
    struct core_run plain_run = {.program = program, .variables = variables}, profiled = plain_run;
    profiled.notify = count_notifications;
    profiled.notify_context = &count;
    float *weights = malloc(128 * 128 * 4), *moving = malloc(128 * 512 * 4);
    float *out = malloc(128 * 512 * 4);
    for (int i = 0; i < 128 * 512; i++)
        moving[i] = weights[i % (128 * 128)] = (float)(i % 100) * 0.01f;
    uint32_t products = program->code_count[ENGINE_TENSOR] / 2;
    double best = 1e9, best_profiled = 1e9, best_plain = 1e9;
    for (int i = 0; i < RUNS; i++) {
        double time = run(core, &plain_run, &result);
        best = time < best ? time : best;
        time = run(core, &profiled, &result);
        best_profiled = time < best_profiled ? time : best_profiled;
        double start = now();
        for (uint32_t k = 0; k < products; k++)
            plain_matmul(weights, moving, out, 128, 128, 512);
        time = now() - start;
        best_plain = time < best_plain ? time : best_plain;
    }
    printf("products %u\nmatmul %.6f\nmatmul_profiled %.6f\nplain_matmul %.6f\n", products, best,
           best_profiled, best_plain);
    core_free(core);
}

int main(void)
{
    measure_instructions(2);
    measure_instructions(3);
    measure_matmul();
}
