/*
 * Order: which steps happen before which, from the engines' lists and the semaphores.
 */
#include "neuron/compiler/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static size_t take_snapshot(struct proof *proof, enum engine engine)
{
    if (proof->snapshot[engine] == SIZE_MAX) {
        size_t at = proof->clocks.count;
        array_reserve(&proof->clocks, at + proof->timelines);
        memcpy(proof->clocks.items + at, proof->clock[engine],
               proof->timelines * sizeof *proof->clocks.items);
        proof->clocks.count += proof->timelines;
        proof->snapshot[engine] = at;
    }
    return proof->snapshot[engine];
}

/* The semaphore's value counts steps that complete one after the other: a value then stands for
 * exactly the updates up to it. */
static bool add_update(struct proof *proof, uint16_t semaphore, uint32_t amount, uint32_t timeline,
                       uint32_t step)
{
    enum engine engine = proof->engine;
    uint64_t value = 0;
    size_t count = proof->updates[semaphore].count;
    if (count > 0) {
        const struct update *last = &proof->updates[semaphore].items[count - 1];
        bool is_ordered = proof->clock[engine][last->timeline] >= last->step;
        if (!is_ordered)
            return proof_failed(
                proof, "updates semaphore %u, but the update before it may come later", semaphore);
        value = last->value;
    }
    *array_push(&proof->updates[semaphore]) =
        (struct update){value + amount, timeline, step, take_snapshot(proof, engine)};
    return true;
}

/* The update that makes the semaphore reach the value; NULL if it has not happened yet. */
static const struct update *find_update(const struct proof *proof, uint16_t semaphore,
                                        uint32_t value)
{
    size_t low = 0, high = proof->updates[semaphore].count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (proof->updates[semaphore].items[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < proof->updates[semaphore].count ? &proof->updates[semaphore].items[low] : NULL;
}

/* False when the engine has to wait. */
static bool pass_wait(struct proof *proof, const struct instruction *instruction)
{
    uint16_t semaphore = instruction->wait_semaphore;
    if (semaphore == NO_SEMAPHORE || instruction->wait_value == 0)
        return true;
    const struct update *update = find_update(proof, semaphore, instruction->wait_value);
    if (!update)
        return false;
    uint32_t *clock = proof->clock[proof->engine];
    const uint32_t *other = proof->clocks.items + update->clock;
    for (uint32_t i = 0; i < proof->timelines; i++)
        clock[i] = clock[i] > other[i] ? clock[i] : other[i];
    if (clock[update->timeline] < update->step)
        clock[update->timeline] = update->step;
    proof->snapshot[proof->engine] = SIZE_MAX;
    proof->last_wait[proof->engine][semaphore] = proof->at[proof->engine] + 1;
    return true;
}

/* All updates of the semaphores, and all waits for them, are over. */
static bool clear(struct proof *proof, const struct instruction *instruction)
{
    const uint32_t *clock = proof->clock[proof->engine];
    for (uint32_t i = 0; i < instruction->count; i++) {
        uint32_t semaphore = instruction->index + i;
        size_t count = proof->updates[semaphore].count;
        const struct update *last = count ? &proof->updates[semaphore].items[count - 1] : NULL;
        if (last && clock[last->timeline] < last->step)
            return proof_failed(proof, "clears semaphore %u, which may be updated later",
                                semaphore);
        for (int e = 0; e < ENGINE_COUNT; e++)
            if (clock[e] < proof->last_wait[e][semaphore])
                return proof_failed(proof, "clears semaphore %u, for which %s may still wait",
                                    semaphore, hardware_engine_name((enum engine)e));
        proof->updates[semaphore].count = 0;
    }
    return true;
}

static bool start(struct proof *proof, uint16_t semaphore, uint32_t increment, uint32_t *step)
{
    if (semaphore == NO_SEMAPHORE)
        return proof_failed(proof, "starts work whose completion no semaphore signals");
    *step = ++proof->started[semaphore];
    return add_update(proof, semaphore, increment, ENGINE_COUNT + semaphore, *step);
}

/* Branches are refused, as they would make the order of steps unknown. The clock at the stop
 * notification is kept: everything must be complete by then. */
static bool run_instruction(struct proof *proof, const struct instruction *instruction)
{
    const struct core_program *program = proof->program;
    uint32_t step = 0;
    switch (instruction->opcode) {
    case OP_DMA_TRIGGER: {
        const struct dma_block *block = &program->blocks[instruction->index];
        return start(proof, block->semaphore, block->increment, &step) &&
               proof_block(proof, block, step);
    }
    case OP_TRIGGER_COLLECTIVE: {
        const struct collective *item = &program->collectives[instruction->index];
        return start(proof, item->semaphore, item->increment, &step) &&
               proof_collective(proof, item, step);
    }
    case OP_SEMAPHORE_RANGE_CLEAR:
        return clear(proof, instruction);
    case OP_COMPARE_BRANCH:
        return proof_failed(proof, "branches, which is not checked");
    case OP_NOTIFY:
        if (instruction->index == 1) {
            proof->has_stopped = true;
            memcpy(proof->stop_clock, proof->clock[proof->engine], sizeof proof->stop_clock);
        }
        return true;
    default:
        return proof_operands(proof, instruction);
    }
}

static bool run_update(struct proof *proof, const struct instruction *instruction)
{
    if (instruction->update_semaphore == NO_SEMAPHORE)
        return true;
    if (instruction->update_kind != UPDATE_ADD || instruction->update_time != UPDATE_AT_COMPLETE)
        return proof_failed(proof, "updates its semaphore in a way that is not checked");
    if (instruction->opcode == OP_LDWEIGHTS)
        return proof_failed(proof, "updates a semaphore; it may overtake the matmul before it");
    return add_update(proof, instruction->update_semaphore, instruction->update_value,
                      proof->engine, proof->at[proof->engine] + 1);
}

/* Runs an engine as far as it gets. */
static bool run_engine(struct proof *proof, enum engine engine, bool *moved)
{
    proof->engine = engine;
    for (; proof->at[engine] < proof->program->code_count[engine]; proof->at[engine]++) {
        const struct instruction *instruction = &proof->program->code[engine][proof->at[engine]];
        if (!pass_wait(proof, instruction))
            return true;
        proof->clock[engine][engine] = proof->at[engine] + 1;
        proof->snapshot[engine] = SIZE_MAX;
        if (!run_instruction(proof, instruction) || !run_update(proof, instruction))
            return false;
        *moved = true;
    }
    return true;
}

static bool find_stuck(struct proof *proof)
{
    for (int e = 0; e < ENGINE_COUNT; e++)
        if (proof->at[e] < proof->program->code_count[e]) {
            const struct instruction *item = &proof->program->code[e][proof->at[e]];
            proof->engine = (enum engine)e;
            return proof_failed(proof, "waits for semaphore %u to be %u, which never happens",
                                item->wait_semaphore, item->wait_value);
        }
    proof->engine = ENGINE_SYNC;
    if (!proof->has_stopped)
        return proof_failed(proof, "nothing signals its end");
    return proof_outputs(proof);
}

static uint32_t count_timelines(const struct core_program *program)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < program->block_count; i++)
        if (program->blocks[i].semaphore != NO_SEMAPHORE && program->blocks[i].semaphore > last)
            last = program->blocks[i].semaphore;
    for (uint32_t i = 0; i < program->collective_count; i++)
        if (program->collectives[i].semaphore != NO_SEMAPHORE &&
            program->collectives[i].semaphore > last)
            last = program->collectives[i].semaphore;
    return ENGINE_COUNT + last + 1;
}

/* Whether a transfer stays within this core's part of an output, from the first to the last byte
 * that it may write. */
static bool writes_within(const struct core_program *program, const struct dma_descriptor *item,
                          const struct output_part *parts)
{
    const struct dma_end *to = &item->to;
    if (to->memory != MEMORY_HBM || program->variables[to->variable].kind != VARIABLE_OUTPUT)
        return true;
    const struct output_part *part = &parts[to->variable];
    if (to->offset_register != NO_REGISTER || item->indirect != DMA_DIRECT)
        return part->first == 0 && part->end == program->variables[to->variable].size;
    int64_t low = 0, high = 0;
    for (int i = 0; i < DMA_DIMENSIONS; i++) {
        int64_t reach = to->step[i] * ((int64_t)to->size[i] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    int64_t bytes = dtype_bytes(to->dtype);
    return (int64_t)to->offset + low * bytes >= (int64_t)part->first &&
           to->offset + (uint64_t)((high + 1) * bytes) <= part->end;
}

static bool outputs_are_own(const struct core_program *program, const struct output_part *parts,
                            struct error *err)
{
    for (uint32_t i = 0; i < program->descriptor_count; i++)
        if (!writes_within(program, &program->descriptors[i], parts))
            return error_set(err,
                             "the compiled program is wrong: transfer %u writes to another core's "
                             "part of output \"%s\"",
                             i, program->variables[program->descriptors[i].to.variable].name);
    for (uint32_t i = 0; i < program->collective_count; i++) {
        const struct collective *item = &program->collectives[i];
        const struct output_part *part = &parts[item->output];
        if (program->variables[item->output].kind == VARIABLE_OUTPUT &&
            (item->output_offset < part->first ||
             item->output_offset + item->output_bytes > part->end))
            return error_set(err,
                             "the compiled program is wrong: collective %u writes to another "
                             "core's part of output \"%s\"",
                             i, program->variables[item->output].name);
    }
    return true;
}

bool compile_check(const struct core_program *program, struct error *err)
{
    return compile_check_part(program, NULL, err);
}

/* Engines run in turns until none can move; the order does not matter, since clocks hold what is
 * known whatever the timing. An engine that still has instructions is stuck, which is an error. */
bool compile_check_part(const struct core_program *program, const struct output_part *parts,
                        struct error *err)
{
    if (!program_check(program, err) || (parts && !outputs_are_own(program, parts, err)))
        return false;
    struct proof *proof = mem_zeroed(1, sizeof *proof);
    proof->program = program;
    proof->parts = parts;
    proof->hardware = hardware_core(program->core_version);
    proof->err = err;
    proof->timelines = count_timelines(program);
    for (int e = 0; e < ENGINE_COUNT; e++)
        proof->snapshot[e] = SIZE_MAX;
    proof_memories(proof);
    bool ok = true, moved = true;
    while (ok && moved) {
        moved = false;
        for (int e = 0; ok && e < ENGINE_COUNT; e++)
            ok = run_engine(proof, (enum engine)e, &moved);
    }
    ok = ok && find_stuck(proof);
    proof_memories_free(proof);
    for (int i = 0; i < SEMAPHORES; i++)
        array_free(&proof->updates[i]);
    array_free(&proof->clocks);
    mem_free(proof);
    return ok;
}
