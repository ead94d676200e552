/*
 * Measures NTFF and the encoding of programs: notifications and instructions a second, written and
 * read, on one core, against a copy of the same structs in memory. Prints "name value" lines.
 */
#include "neuron/profile_file/ntff.h"
#include "neuron/program/binary.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 4 << 20, BATCH = 1024, UNITS = 5, RUNS = 5, CODE = 200000, BLOCK_MAX = 4096 };

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t random_state = 1;
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % limit);
}

/* Engines run instructions one after the other; every fourth notification is of a DMA engine, whose
 * ends have checksums. */
static void fill(struct notification *items)
{
    uint64_t times[UNITS] = {0};
    uint32_t ids[UNITS] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        unsigned unit = (unsigned)(i % UNITS);
        bool is_end = i / UNITS % 2, is_dma = unit == UNITS - 1;
        times[unit] += 64 + random_below(600);
        items[i] = (struct notification){
            .time = times[unit],
            .id = ids[unit],
            .value = is_end ? (is_dma ? random_below(UINT32_MAX) : 0) : random_below(200),
            .type = is_dma ? NOTIFICATION_TRACE_DMA : NOTIFICATION_TRACE,
            .phase = is_end ? PHASE_END : PHASE_START,
            .unit = (uint8_t)unit};
        ids[unit] += is_end;
    }
}

static double write_all(const struct notification *items, const char *path)
{
    const struct ntff_header header = {.neff_name = "bench", .ticks_per_us = 5600};
    struct error err;
    double started = cpu_seconds();
    struct ntff_writer *writer = ntff_create(path, &header, &err);
    if (!writer)
        exit(1);
    ntff_begin(writer, 0);
    for (size_t i = 0; i < COUNT; i += BATCH)
        ntff_push(writer, items + i, BATCH);
    ntff_end(writer, &(struct ntff_execution){0});
    if (!ntff_finish(writer, &err))
        exit(1);
    return cpu_seconds() - started;
}

static double read_all(const char *path)
{
    static struct notification items[BLOCK_MAX];
    struct error err;
    size_t blocks, total = 0;
    double started = cpu_seconds();
    struct ntff *ntff = ntff_open(path, &err);
    if (!ntff)
        exit(1);
    const struct ntff_block *list = ntff_blocks(ntff, &blocks);
    for (size_t i = 0; i < blocks; i++) {
        if (!ntff_read_block(ntff, i, items, &err))
            exit(1);
        total += list[i].count;
    }
    ntff_close(ntff);
    if (total != COUNT)
        exit(1);
    return cpu_seconds() - started;
}

static double copy_all(const struct notification *items)
{
    static struct notification block[BLOCK_MAX];
    static volatile uint64_t seen;
    double started = cpu_seconds();
    for (size_t i = 0; i < COUNT; i += BLOCK_MAX) {
        memcpy(block, items + i, sizeof block);
        seen += block[i % BLOCK_MAX].time;
    }
    return cpu_seconds() - started;
}

static void bench_notifications(const char *path)
{
    struct notification *items = malloc(COUNT * sizeof *items);
    double write = 1e9, read = 1e9, copy = 1e9;
    fill(items);
    for (int run = 0; run < RUNS; run++) {
        double taken = write_all(items, path);
        write = taken < write ? taken : write;
        taken = read_all(path);
        read = taken < read ? taken : read;
        taken = copy_all(items);
        copy = taken < copy ? taken : copy;
    }
    struct file file;
    struct error err;
    if (!file_open(&file, path, &err))
        exit(1);
    printf("ntff_write_per_s %.0f\n", COUNT / write);
    printf("ntff_read_per_s %.0f\n", COUNT / read);
    printf("ntff_copy_per_s %.0f\n", COUNT / copy);
    printf("ntff_bytes %.3f\n", (double)file.size / COUNT);
    file_close(&file);
    free(items);
}

/* Tiles of a matrix product, unrolled. */
static void make_code(struct instruction *code)
{
    for (uint32_t i = 0; i < CODE; i++) {
        bool is_load = i % 4 == 0;
        const struct operand src = {.memory = MEMORY_SBUF,
                                    .dtype = DTYPE_BF16,
                                    .partitions = 128,
                                    .offset = i % 512 * 256,
                                    .step = {0, 0, 0, 1},
                                    .size = {1, 1, 1, 128}};
        code[i] = (struct instruction){.opcode = is_load ? OP_LDWEIGHTS : OP_MATMUL,
                                       .wait_semaphore = (uint16_t)(i % 7),
                                       .wait_value = i / 7,
                                       .update_semaphore = 9,
                                       .update_value = 1,
                                       .origin = i / 1000,
                                       .src = {src}};
        if (!is_load)
            code[i].dst = (struct operand){.memory = MEMORY_PSUM,
                                           .dtype = DTYPE_FP32,
                                           .partitions = 128,
                                           .offset = i / 16 % 8 * PSUM_BANK_BYTES,
                                           .step = {0, 0, 0, 1},
                                           .size = {1, 1, 1, 128}};
    }
}

static void bench_programs(void)
{
    struct instruction *code = malloc(CODE * sizeof *code);
    struct origin *origins = calloc(CODE / 1000, sizeof *origins);
    for (size_t i = 0; i < CODE / 1000; i++)
        origins[i] = (struct origin){
            .layer = "", .operation = "", .opcode = "", .framework = "", .file = ""};
    make_code(code);
    struct core_program program = {.core_version = 2,
                                   .origins = origins,
                                   .origin_count = CODE / 1000,
                                   .code = {code},
                                   .code_count = {CODE}};
    struct output out;
    output_memory(&out);
    program_encode(&program, 1, &out);
    double decode = 1e9, check = 1e9;
    for (int run = 0; run < RUNS; run++) {
        struct arena arena = {0};
        struct core_program decoded;
        struct error err;
        uint32_t workers, *crcs;
        double started = cpu_seconds();
        if (!program_decode(&decoded, &workers, &crcs, (const uint8_t *)out.data, out.size, &arena,
                            &err))
            exit(1);
        double between = cpu_seconds();
        if (!program_check(&decoded, &err))
            exit(1);
        double ended = cpu_seconds();
        decode = between - started < decode ? between - started : decode;
        check = ended - between < check ? ended - between : check;
        arena_free(&arena);
    }
    printf("program_decode_per_s %.0f\n", CODE / decode);
    printf("program_check_per_s %.0f\n", CODE / check);
    printf("program_bytes %.3f\n", (double)out.size / CODE);
    output_discard(&out);
    free(origins);
    free(code);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: bench_ntff FILE\n");
        return 2;
    }
    bench_notifications(arguments[1]);
    bench_programs();
    unlink(arguments[1]);
    return 0;
}
