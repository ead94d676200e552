/*
 * Checks collectives: their variables, the relation of input and output sizes, their groups.
 */
#include "neuron/program/check.h"

#include <inttypes.h>
#include <stdlib.h>

static bool check_side(struct check *check, uint32_t number, uint64_t offset, uint64_t bytes,
                       uint32_t item_bytes, const char *name)
{
    if (number >= check->program->variable_count)
        return check_failed(check, "its %s is variable %u, which does not exist", name, number);
    const struct variable *variable = &check->program->variables[number];
    if (offset > variable->size || bytes > variable->size - offset)
        return check_failed(check, "its %s is beyond the %" PRIu64 " bytes of %s", name,
                            variable->size, variable->name);
    if (offset % item_bytes != 0 || bytes % item_bytes != 0)
        return check_failed(check, "its %s is not aligned to its data type", name);
    return true;
}

static int compare_ranks(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool are_distinct(const uint32_t *ranks, size_t count, size_t step)
{
    uint32_t *sorted = mem_alloc((count / step + 1) * sizeof *sorted);
    size_t used = 0;
    for (size_t i = 0; i < count; i += step)
        sorted[used++] = ranks[i];
    qsort(sorted, used, sizeof *sorted, compare_ranks);
    bool distinct = true;
    for (size_t i = 1; i < used; i++)
        distinct &= sorted[i] != sorted[i - 1];
    mem_free(sorted);
    return distinct;
}

bool collective_ranks_distinct(enum collective_kind kind, const uint32_t *members, size_t count)
{
    if (kind != COLLECTIVE_PERMUTE || count == 0)
        return are_distinct(members, count, 1);
    return are_distinct(members, count, 2) && are_distinct(members + 1, count - 1, 2);
}

static bool check_groups(struct check *check, const struct collective *item)
{
    if (item->group_count == 0)
        return item->kind != COLLECTIVE_PERMUTE ||
               check_failed(check, "a permutation needs pairs of ranks");
    if (item->group_size == 0)
        return check_failed(check, "its groups are empty");
    if (item->kind == COLLECTIVE_PERMUTE && item->group_size != 2)
        return check_failed(check, "a permutation needs pairs of ranks, not groups of %u",
                            item->group_size);
    size_t count = (size_t)item->group_count * item->group_size;
    if (!collective_ranks_distinct((enum collective_kind)item->kind, item->members, count))
        return check_failed(check, "a rank is in two groups");
    return true;
}

/* ranks: the number that exchange with each other. */
static bool check_bytes(struct check *check, const struct collective *item, uint64_t ranks)
{
    uint64_t in = item->input_bytes, out = item->output_bytes, whole;
    bool fits = in == out;
    if (item->kind == COLLECTIVE_ALL_TO_ALL_V)
        fits = true;
    else if (item->kind == COLLECTIVE_ALL_GATHER)
        fits = !__builtin_mul_overflow(in, ranks, &whole) && whole == out;
    else if (item->kind == COLLECTIVE_REDUCE_SCATTER)
        fits = !__builtin_mul_overflow(out, ranks, &whole) && whole == in;
    else if (item->kind == COLLECTIVE_ALL_TO_ALL)
        fits &= in / dtype_bytes((enum dtype)item->dtype) % ranks == 0;
    if (!fits)
        return check_failed(check,
                            "%" PRIu64 " bytes in and %" PRIu64
                            " bytes out do not fit together for %" PRIu64 " ranks",
                            in, out, ranks);
    return true;
}

static bool is_inside(uint64_t offset, uint64_t bytes, uint64_t all, uint32_t item_bytes)
{
    return bytes <= all && offset <= all - bytes && offset % item_bytes == 0 &&
           bytes % item_bytes == 0;
}

/* The group of a rank: its number, or group_count. Without groups all ranks are in one. */
static uint32_t group_of(const struct collective *item, uint32_t rank)
{
    if (item->group_count == 0)
        return 0;
    for (uint32_t i = 0; i < item->group_count * item->group_size; i++)
        if (item->members[i] == rank)
            return i / item->group_size;
    return item->group_count;
}

static bool check_moves(struct check *check, const struct collective *item)
{
    uint32_t item_bytes = dtype_bytes((enum dtype)item->dtype);
    for (uint32_t i = 0; i < item->move_count; i++) {
        const struct collective_move *move = &item->moves[i];
        if (!is_inside(move->from, move->bytes, item->input_bytes, item_bytes) ||
            !is_inside(move->to, move->bytes, item->output_bytes, item_bytes))
            return check_failed(check, "move %u is not inside its input and output", i);
        uint32_t group = group_of(item, move->source);
        if (group != group_of(item, move->target) ||
            (item->group_count > 0 && group == item->group_count))
            return check_failed(check, "move %u is not between ranks of a group", i);
        if (i > 0 && move->source < move[-1].source)
            return check_failed(check, "move %u is not in the order of sources", i);
    }
    return true;
}

/* Checks everything that does not depend on the number of ranks, which only the container knows;
 * sizes of collectives over all ranks are checked with it. */
static bool check_one(struct check *check, const struct collective *item)
{
    if (item->kind > COLLECTIVE_ALL_TO_ALL_V)
        return check_failed(check, "its kind is unknown: %u", item->kind);
    if (!check_semaphore(check, item->semaphore) || !check_groups(check, item))
        return false;
    if (item->kind == COLLECTIVE_BARRIER)
        return (item->input_bytes == 0 && item->output_bytes == 0) ||
               check_failed(check, "a barrier has data");
    if (item->dtype == DTYPE_NONE || item->dtype >= DTYPE_COUNT)
        return check_failed(check, "its data type is unknown: %u", item->dtype);
    bool reduces = item->kind == COLLECTIVE_ALL_REDUCE || item->kind == COLLECTIVE_REDUCE_SCATTER;
    if (reduces && item->alu != ALU_ADD && item->alu != ALU_MULTIPLY && item->alu != ALU_MAX &&
        item->alu != ALU_MIN)
        return check_failed(check, "it cannot reduce by operation %u", item->alu);
    uint32_t bytes = dtype_bytes((enum dtype)item->dtype);
    if (!check_side(check, item->input, item->input_offset, item->input_bytes, bytes, "input") ||
        !check_side(check, item->output, item->output_offset, item->output_bytes, bytes, "output"))
        return false;
    if (check->program->variables[item->output].kind == VARIABLE_WEIGHT)
        return check_failed(check, "it writes to a weight");
    if (!check_moves(check, item))
        return false;
    return item->group_count == 0 ||
           check_bytes(check, item, item->kind == COLLECTIVE_PERMUTE ? 1 : item->group_size);
}

bool check_collectives(struct check *check)
{
    const struct core_program *program = check->program;
    check->what = "collective";
    for (uint32_t i = 0; i < program->collective_count; i++) {
        check->number = i;
        if (!check_one(check, &program->collectives[i]))
            return false;
    }
    return true;
}

bool program_check_ranks(const struct core_program *program, uint32_t worker_count,
                         struct error *err)
{
    struct check check = {.program = program, .err = err, .what = "collective"};
    if (worker_count == 0)
        return error_set(err, "the number of workers is 0");
    for (uint32_t i = 0; i < program->collective_count; i++) {
        const struct collective *item = &program->collectives[i];
        check.number = i;
        size_t members = (size_t)item->group_count * item->group_size;
        for (size_t k = 0; k < members; k++)
            if (item->members[k] >= worker_count)
                return check_failed(&check, "rank %u of %u does not exist", item->members[k],
                                    worker_count);
        for (uint32_t k = 0; k < item->move_count; k++)
            if (item->moves[k].source >= worker_count || item->moves[k].target >= worker_count)
                return check_failed(&check, "move %u names a rank beyond the %u there are", k,
                                    worker_count);
        if (item->group_count == 0 && item->kind != COLLECTIVE_BARRIER &&
            !check_bytes(&check, item, worker_count))
            return false;
    }
    return true;
}
