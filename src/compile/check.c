/*
 * Order: what happens before what, from the engines' lists and the semaphores.
 */
#include "compile/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

bool check_failed(struct check *check, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const struct core_program *program = check->program;
    uint32_t at = check->at[check->engine];
    if (at >= program->code_count[check->engine])
        return error_set(check->err, "the compiled program is wrong: %s", text);
    const struct instruction *item = &program->code[check->engine][at];
    const char *operation =
        item->origin < program->origin_count ? program->origins[item->origin].operation : "";
    return error_set(check->err, "the compiled program is wrong: %s instruction %u (%s of \"%s\") %s",
                     hardware_engine_name(check->engine), at, opcode_name(item->opcode), operation,
                     text);
}

static size_t take_snapshot(struct check *check, enum engine engine)
{
    if (check->snapshot[engine] == SIZE_MAX) {
        size_t at = check->clocks.count;
        array_reserve(&check->clocks, at + check->timelines);
        memcpy(check->clocks.items + at, check->clock[engine],
               check->timelines * sizeof *check->clocks.items);
        check->clocks.count += check->timelines;
        check->snapshot[engine] = at;
    }
    return check->snapshot[engine];
}

/* The semaphore's value counts steps that complete one after the other: a value then stands for
 * exactly the updates up to it. */
static bool add_update(struct check *check, uint16_t semaphore, uint32_t amount, uint32_t timeline,
                       uint32_t step)
{
    enum engine engine = check->engine;
    uint64_t value = 0;
    size_t count = check->updates[semaphore].count;
    if (count > 0) {
        const struct update *last = &check->updates[semaphore].items[count - 1];
        bool is_ordered = check->clock[engine][last->timeline] >= last->step;
        if (!is_ordered)
            return check_failed(check,
                                "updates semaphore %u, but the update before it may come later",
                                semaphore);
        value = last->value;
    }
    *array_push(&check->updates[semaphore]) =
        (struct update){value + amount, timeline, step, take_snapshot(check, engine)};
    return true;
}

/* The update that makes the semaphore reach the value; NULL: it has not been made. */
static const struct update *find_update(const struct check *check, uint16_t semaphore,
                                        uint32_t value)
{
    size_t low = 0, high = check->updates[semaphore].count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (check->updates[semaphore].items[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < check->updates[semaphore].count ? &check->updates[semaphore].items[low] : NULL;
}

/* False when the engine has to wait. */
static bool pass_wait(struct check *check, const struct instruction *instruction)
{
    uint16_t semaphore = instruction->wait_semaphore;
    if (semaphore == NO_SEMAPHORE || instruction->wait_value == 0)
        return true;
    const struct update *update = find_update(check, semaphore, instruction->wait_value);
    if (!update)
        return false;
    uint32_t *clock = check->clock[check->engine];
    const uint32_t *other = check->clocks.items + update->clock;
    for (uint32_t i = 0; i < check->timelines; i++)
        clock[i] = clock[i] > other[i] ? clock[i] : other[i];
    if (clock[update->timeline] < update->step)
        clock[update->timeline] = update->step;
    check->snapshot[check->engine] = SIZE_MAX;
    check->last_wait[check->engine][semaphore] = check->at[check->engine] + 1;
    return true;
}

/* All updates of the semaphores, and all waits for them, are over. */
static bool clear(struct check *check, const struct instruction *instruction)
{
    const uint32_t *clock = check->clock[check->engine];
    for (uint32_t i = 0; i < instruction->count; i++) {
        uint32_t semaphore = instruction->index + i;
        size_t count = check->updates[semaphore].count;
        const struct update *last = count ? &check->updates[semaphore].items[count - 1] : NULL;
        if (last && clock[last->timeline] < last->step)
            return check_failed(check, "clears semaphore %u, which may be updated later", semaphore);
        for (int e = 0; e < ENGINE_COUNT; e++)
            if (clock[e] < check->last_wait[e][semaphore])
                return check_failed(check, "clears semaphore %u, for which %s may still wait",
                                    semaphore, hardware_engine_name((enum engine)e));
        check->updates[semaphore].count = 0;
    }
    return true;
}

static bool start(struct check *check, uint16_t semaphore, uint32_t increment, uint32_t *step)
{
    if (semaphore == NO_SEMAPHORE)
        return check_failed(check, "starts what nobody can know to be complete");
    *step = ++check->started[semaphore];
    return add_update(check, semaphore, increment, ENGINE_COUNT + semaphore, *step);
}

static bool run_instruction(struct check *check, const struct instruction *instruction)
{
    const struct core_program *program = check->program;
    uint32_t step;
    switch (instruction->opcode) {
    case OP_DMA_TRIGGER: {
        const struct dma_block *block = &program->blocks[instruction->index];
        return start(check, block->semaphore, block->increment, &step) &&
               check_block(check, block, step);
    }
    case OP_TRIGGER_COLLECTIVE: {
        const struct collective *item = &program->collectives[instruction->index];
        return start(check, item->semaphore, item->increment, &step) &&
               check_collective(check, item, step);
    }
    case OP_SEMAPHORE_RANGE_CLEAR:
        return clear(check, instruction);
    case OP_COMPARE_BRANCH:
        return check_failed(check, "branches, which is not checked");
    case OP_NOTIFY:
        if (instruction->index == 1) {
            check->has_stopped = true;
            memcpy(check->stop_clock, check->clock[check->engine], sizeof check->stop_clock);
        }
        return true;
    default:
        return check_operands(check, instruction);
    }
}

static bool run_update(struct check *check, const struct instruction *instruction)
{
    if (instruction->update_semaphore == NO_SEMAPHORE)
        return true;
    if (instruction->update_kind != UPDATE_ADD || instruction->update_time != UPDATE_AT_COMPLETE)
        return check_failed(check, "updates its semaphore in a way that is not checked");
    if (instruction->opcode == OP_LDWEIGHTS)
        return check_failed(check, "updates a semaphore; it may overtake the matmul before it");
    return add_update(check, instruction->update_semaphore, instruction->update_value,
                      check->engine, check->at[check->engine] + 1);
}

/* Runs an engine as far as it comes. */
static bool run_engine(struct check *check, enum engine engine, bool *moved)
{
    check->engine = engine;
    for (; check->at[engine] < check->program->code_count[engine]; check->at[engine]++) {
        const struct instruction *instruction = &check->program->code[engine][check->at[engine]];
        if (!pass_wait(check, instruction))
            return true;
        check->clock[engine][engine] = check->at[engine] + 1;
        check->snapshot[engine] = SIZE_MAX;
        if (!run_instruction(check, instruction) || !run_update(check, instruction))
            return false;
        *moved = true;
    }
    return true;
}

static bool find_stuck(struct check *check)
{
    for (int e = 0; e < ENGINE_COUNT; e++)
        if (check->at[e] < check->program->code_count[e]) {
            const struct instruction *item = &check->program->code[e][check->at[e]];
            check->engine = (enum engine)e;
            return check_failed(check, "waits for semaphore %u to be %u, which never happens",
                                item->wait_semaphore, item->wait_value);
        }
    check->engine = ENGINE_SYNC;
    if (!check->has_stopped)
        return check_failed(check, "nothing tells its end");
    return check_outputs(check);
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

bool compile_check(const struct core_program *program, struct error *err)
{
    if (!program_check(program, err))
        return false;
    struct check *check = mem_zeroed(1, sizeof *check);
    check->program = program;
    check->hardware = hardware_core(program->core_version);
    check->err = err;
    check->timelines = count_timelines(program);
    for (int e = 0; e < ENGINE_COUNT; e++)
        check->snapshot[e] = SIZE_MAX;
    check_memories(check);
    bool ok = true, moved = true;
    while (ok && moved) {
        moved = false;
        for (int e = 0; ok && e < ENGINE_COUNT; e++)
            ok = run_engine(check, (enum engine)e, &moved);
    }
    ok = ok && find_stuck(check);
    check_memories_free(check);
    for (int i = 0; i < SEMAPHORES; i++)
        array_free(&check->updates[i]);
    array_free(&check->clocks);
    mem_free(check);
    return ok;
}
