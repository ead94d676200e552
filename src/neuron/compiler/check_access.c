/*
 * Accesses: which bytes each instruction and each transfer reads and writes.
 */
#include "neuron/compiler/check.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    MAX_DIMENSIONS = DMA_DIMENSIONS + 1,
    MAX_RUNS = 50000000, /* in all: takes some seconds */
};

/* Where the bytes of a set of dimensions are, as runs. */
struct runs {
    uint64_t first; /* of the lowest byte */
    uint64_t length;
    uint32_t rank;
    uint64_t size[MAX_DIMENSIONS];
    uint64_t step[MAX_DIMENSIONS]; /* bytes */
};

/* The set of bytes does not depend on the order or direction of dimensions. */
static struct runs make_runs(uint64_t offset, uint32_t bytes, const uint64_t *size,
                             const int64_t *step, uint32_t rank)
{
    struct runs runs = {.first = offset, .length = bytes};
    for (uint32_t i = 0; i < rank; i++) {
        if (size[i] == 1 || step[i] == 0)
            continue;
        uint64_t distance = (uint64_t)(step[i] < 0 ? -step[i] : step[i]) * bytes;
        if (step[i] < 0)
            runs.first -= distance * (size[i] - 1);
        uint32_t at = runs.rank++;
        for (; at > 0 && runs.step[at - 1] > distance; at--) {
            runs.size[at] = runs.size[at - 1];
            runs.step[at] = runs.step[at - 1];
        }
        runs.size[at] = size[i];
        runs.step[at] = distance;
    }
    while (runs.rank > 0 && runs.step[0] == runs.length) {
        runs.length *= runs.size[0];
        runs.rank--;
        memmove(runs.size, runs.size + 1, runs.rank * sizeof *runs.size);
        memmove(runs.step, runs.step + 1, runs.rank * sizeof *runs.step);
    }
    return runs;
}

static const char *const problems[] = {
    [SHADOW_UNWRITTEN] = "reads %s byte %" PRIu64 ", which was never written",
    [SHADOW_DEAD] = "reads %s byte %" PRIu64 ", which was written as something else by %s",
    [SHADOW_READ_EARLY] = "reads %s byte %" PRIu64 ", which %s may not have written yet",
    [SHADOW_WRITE_EARLY] = "writes %s byte %" PRIu64 ", which %s may write at the same time",
    [SHADOW_WRITE_READ] = "writes %s byte %" PRIu64 ", which %s may not have read yet",
};

/* Says that the check is incomplete, not that anything is wrong. */
static bool give_up(struct proof *proof)
{
    return error_set(proof->err,
                     "the program accesses memory in too many pieces to be checked; make tensors "
                     "smaller, or slice, pad and concatenate other dimensions than the last");
}

static bool report(struct proof *proof, const char *memory, const struct shadow_conflict *conflict)
{
    char who[96], text[256];
    if (conflict->problem == SHADOW_FULL)
        return give_up(proof);
    if (conflict->timeline < ENGINE_COUNT)
        snprintf(who, sizeof who, "%s instruction %u",
                 hardware_engine_name((enum engine)conflict->timeline), conflict->step - 1);
    else
        snprintf(who, sizeof who, "transfer %u of semaphore %u", conflict->step,
                 conflict->timeline - ENGINE_COUNT);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, problems[conflict->problem], memory, conflict->address, who);
#pragma GCC diagnostic pop
    return proof_failed(proof, "%s", text);
}

/* Bounds the work before doing it: strides may split a large tensor into one run per element. */
static bool apply_runs(struct proof *proof, struct shadow *shadow, const char *memory,
                       uint64_t base, const struct runs *runs, const struct shadow_event *event,
                       bool is_write)
{
    uint64_t index[MAX_DIMENSIONS] = {0}, at = base + runs->first;
    struct shadow_conflict conflict;
    uint64_t count = 1;
    for (uint32_t i = 0; i < runs->rank; i++)
        if (__builtin_mul_overflow(count, runs->size[i], &count))
            return give_up(proof);
    if (count > MAX_RUNS - proof->run_count)
        return give_up(proof);
    proof->run_count += count;
    for (;;) {
        bool ok = is_write ? shadow_write(shadow, at, at + runs->length, event, &conflict)
                           : shadow_read(shadow, at, at + runs->length, event, &conflict);
        if (!ok)
            return report(proof, memory, &conflict);
        uint32_t i = 0;
        for (; i < runs->rank; i++) {
            at += runs->step[i];
            if (++index[i] < runs->size[i])
                break;
            at -= runs->step[i] * runs->size[i];
            index[i] = 0;
        }
        if (i == runs->rank)
            return true;
    }
}

/* The same bytes of partitions first .. first + count - 1. */
static bool apply_partitions(struct proof *proof, uint8_t memory, uint32_t first, uint32_t count,
                             const struct runs *runs, const struct shadow_event *event,
                             bool is_write)
{
    bool is_sbuf = memory == MEMORY_SBUF;
    uint64_t bytes = is_sbuf ? proof->hardware->sbuf_bytes : PSUM_BYTES;
    for (uint32_t i = proof->class_of[first]; i < proof->class_of[first + count]; i++)
        if (!apply_runs(proof, is_sbuf ? proof->sbuf : proof->psum, is_sbuf ? "SBUF" : "PSUM",
                        i * bytes, runs, event, is_write))
            return false;
    return true;
}

static bool apply_operand(struct proof *proof, const struct operand *operand,
                          const struct shadow_event *event, bool is_write)
{
    uint64_t size[4];
    int64_t step[4];
    for (int i = 0; i < 4; i++) {
        size[i] = operand->size[i];
        step[i] = operand->step[i];
    }
    struct shadow_event typed = *event;
    typed.owner = operand->dtype;
    struct runs runs = make_runs(operand->offset, dtype_bytes(operand->dtype), size, step, 4);
    return apply_partitions(proof, operand->memory, operand->partition, operand->partitions, &runs,
                            &typed, is_write);
}

bool proof_operands(struct proof *proof, const struct instruction *instruction)
{
    struct shadow_event event = {
        .timeline = proof->engine,
        .step = proof->at[proof->engine] + 1,
        .clock = proof->clock[proof->engine],
    };
    for (int i = 0; i < 3; i++)
        if (instruction->src[i].memory != MEMORY_NONE &&
            !apply_operand(proof, &instruction->src[i], &event, false))
            return false;
    if (instruction->dst.memory == MEMORY_NONE)
        return true;
    if (instruction->opcode == OP_MATMUL && instruction->flags & FLAG_ACCUMULATE &&
        !apply_operand(proof, &instruction->dst, &event, false))
        return false;
    return apply_operand(proof, &instruction->dst, &event, true);
}

/* An end in HBM. A register or an index may select any part of the variable. */
static bool apply_hbm(struct proof *proof, const struct dma_end *end, uint64_t rows,
                      const struct shadow_event *event, bool is_write)
{
    const struct variable *variable = &proof->program->variables[end->variable];
    uint64_t address = proof->addresses[end->variable];
    if (address == UINT64_MAX)
        return !is_write || proof_failed(proof, "writes to the input \"%s\"", variable->name);
    uint32_t bytes = dtype_bytes(end->dtype);
    uint64_t size[DMA_DIMENSIONS];
    int64_t step[DMA_DIMENSIONS];
    for (int i = 0; i < DMA_DIMENSIONS; i++) {
        size[i] = end->size[i];
        step[i] = end->step[i];
    }
    struct shadow_event owned = *event;
    owned.owner = end->variable;
    struct runs runs;
    if (end->offset_register != NO_REGISTER) {
        runs = (struct runs){.length = variable->size};
    } else {
        if (rows > 0) {
            size[0] = rows;
            step[0] = (int64_t)(end->register_step / bytes);
        }
        runs = make_runs(end->offset, bytes, size, step, DMA_DIMENSIONS);
    }
    bool is_partial = is_write && (end->offset_register != NO_REGISTER || rows > 0);
    /* Bytes that are not selected keep their value, so they must have one. */
    if (is_partial && !apply_runs(proof, proof->hbm, "HBM", address, &runs, &owned, false))
        return false;
    return apply_runs(proof, proof->hbm, "HBM", address, &runs, &owned, is_write);
}

static bool apply_end(struct proof *proof, const struct dma_end *end, uint64_t rows,
                      const struct shadow_event *event, bool is_write)
{
    if (end->memory == MEMORY_HBM)
        return apply_hbm(proof, end, rows, event, is_write);
    uint64_t size[DMA_DIMENSIONS];
    int64_t step[DMA_DIMENSIONS];
    for (int i = 1; i < DMA_DIMENSIONS; i++) {
        size[i] = end->size[i];
        step[i] = end->step[i];
    }
    if (end->size[0] > 1 && end->step[0] != 1)
        return proof_failed(proof, "transfers partitions that are not adjacent");
    struct shadow_event typed = *event;
    typed.owner = end->dtype;
    struct runs runs =
        make_runs(end->offset, dtype_bytes(end->dtype), size + 1, step + 1, DMA_DIMENSIONS - 1);
    return apply_partitions(proof, end->memory, end->partition, end->size[0], &runs, &typed,
                            is_write);
}

bool proof_block(struct proof *proof, const struct dma_block *block, uint32_t step)
{
    struct shadow_event event = {
        .timeline = ENGINE_COUNT + block->semaphore,
        .step = step,
        .clock = proof->clock[proof->engine],
    };
    for (uint32_t i = 0; i < block->count; i++) {
        const struct dma_descriptor *item = &proof->program->descriptors[block->first + i];
        event.part = i;
        uint64_t from_rows = item->indirect == DMA_GATHER ? item->index_limit : 0;
        uint64_t to_rows = item->indirect == DMA_SCATTER ? item->index_limit : 0;
        if (item->indirect != DMA_DIRECT && !apply_operand(proof, &item->indices, &event, false))
            return false;
        if (!apply_end(proof, &item->from, from_rows, &event, false))
            return false;
        if (item->operation != DMA_COPY && to_rows == 0 &&
            !apply_end(proof, &item->to, 0, &event, false))
            return false;
        if (!apply_end(proof, &item->to, to_rows, &event, true))
            return false;
    }
    return true;
}

static bool apply_contiguous(struct proof *proof, uint32_t variable, uint64_t offset,
                             uint64_t bytes, const struct shadow_event *event, bool is_write)
{
    uint64_t address = proof->addresses[variable];
    if (address == UINT64_MAX)
        return !is_write || proof_failed(proof, "writes to the input \"%s\"",
                                         proof->program->variables[variable].name);
    struct shadow_event owned = *event;
    owned.owner = variable;
    struct runs runs = {.first = offset, .length = bytes};
    return bytes == 0 || apply_runs(proof, proof->hbm, "HBM", address, &runs, &owned, is_write);
}

bool proof_collective(struct proof *proof, const struct collective *collective, uint32_t step)
{
    struct shadow_event event = {
        .timeline = ENGINE_COUNT + collective->semaphore,
        .step = step,
        .clock = proof->clock[proof->engine],
    };
    return apply_contiguous(proof, collective->input, collective->input_offset,
                            collective->input_bytes, &event, false) &&
           apply_contiguous(proof, collective->output, collective->output_offset,
                            collective->output_bytes, &event, true);
}

/* At the end of the program all outputs are complete, or this core's part of them. */
bool proof_outputs(struct proof *proof)
{
    struct shadow_event event = {
        .timeline = ENGINE_SYNC, .step = UINT32_MAX, .clock = proof->stop_clock};
    for (uint32_t i = 0; i < proof->program->variable_count; i++)
        if (proof->program->variables[i].kind == VARIABLE_OUTPUT) {
            const struct output_part part =
                proof->parts ? proof->parts[i]
                             : (struct output_part){0, proof->program->variables[i].size};
            if (!apply_contiguous(proof, i, part.first, part.end - part.first, &event, false))
                return false;
        }
    return true;
}

static void mark_border(bool *borders, uint32_t first, uint32_t count)
{
    borders[first] = borders[first + count] = true;
}

static void mark_operand(bool *borders, const struct operand *operand)
{
    if (operand->memory != MEMORY_NONE)
        mark_border(borders, operand->partition, operand->partitions);
}

/* Partitions between two borders have the same history. */
static uint32_t find_classes(struct proof *proof)
{
    bool borders[PARTITIONS + 1] = {false};
    const struct core_program *program = proof->program;
    for (int e = 0; e < ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < program->code_count[e]; i++) {
            mark_operand(borders, &program->code[e][i].dst);
            for (int k = 0; k < 3; k++)
                mark_operand(borders, &program->code[e][i].src[k]);
        }
    for (uint32_t i = 0; i < program->descriptor_count; i++) {
        const struct dma_descriptor *item = &program->descriptors[i];
        mark_operand(borders, &item->indices);
        if (item->from.memory != MEMORY_HBM)
            mark_border(borders, item->from.partition, item->from.size[0]);
        if (item->to.memory != MEMORY_HBM)
            mark_border(borders, item->to.partition, item->to.size[0]);
    }
    uint32_t count = 0;
    borders[0] = borders[PARTITIONS] = true;
    for (uint32_t i = 0; i <= PARTITIONS; i++) {
        count += i > 0 && borders[i];
        proof->class_of[i] = (uint8_t)count;
    }
    return count;
}

void proof_memories(struct proof *proof)
{
    const struct core_program *program = proof->program;
    uint32_t classes = find_classes(proof);
    proof->sbuf = shadow_new((uint64_t)classes * proof->hardware->sbuf_bytes);
    proof->psum = shadow_new((uint64_t)classes * PSUM_BYTES);
    proof->addresses = mem_alloc((program->variable_count + 1) * sizeof *proof->addresses);
    uint64_t end = program->scratchpad_bytes;
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct variable *variable = &program->variables[i];
        proof->addresses[i] = UINT64_MAX;
        if (variable->kind == VARIABLE_VIRTUAL)
            proof->addresses[i] = variable->backing_offset;
        if (variable->kind != VARIABLE_OUTPUT)
            continue;
        proof->addresses[i] = end;
        end += variable->size;
    }
    proof->hbm = shadow_new(end);
}

void proof_memories_free(struct proof *proof)
{
    shadow_free(proof->sbuf);
    shadow_free(proof->psum);
    shadow_free(proof->hbm);
    mem_free(proof->addresses);
}
