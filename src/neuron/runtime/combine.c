/*
 * What collectives do with the data of all ranks of a group.
 */
#include "neuron/runtime/ranks.h"

#include <string.h>

enum { PARTS_FROM = 32 * 1024 }; /* bytes of an all-reduce: below, one meeting is faster */

struct work {
    const struct collective *collective;
    uint8_t *out;
    uint32_t rank;           /* this one */
    uint32_t position;       /* of this rank in its group */
    const uint32_t *members; /* of the group; NULL: all ranks */
    int64_t source;          /* PERMUTE: position of the rank whose data it gets, -1: none */
};

static void all_to_all(const struct work *work, const uint8_t *const *inputs, uint32_t count)
{
    uint64_t part = work->collective->output_bytes / count;
    for (uint32_t i = 0; i < count; i++)
        memcpy(work->out + i * part, inputs[i] + work->position * part, part);
}

static uint32_t position_of(const struct work *work, uint32_t rank)
{
    uint32_t position = 0;
    while (work->members && work->members[position] != rank)
        position++;
    return work->members ? position : rank;
}

static void move_all(const struct work *work, const uint8_t *const *inputs)
{
    for (uint32_t i = 0; i < work->collective->move_count; i++) {
        const struct collective_move *move = &work->collective->moves[i];
        if (move->target == work->rank)
            memcpy(work->out + move->to, inputs[position_of(work, move->source)] + move->from,
                   move->bytes);
    }
}

/* Called once per rank when all inputs have arrived, possibly at the same time as for others: it
 * writes to its own output alone. Sums are in the order of ranks, so that all get the same bits. */
static void combine(void *context, const uint8_t *const *inputs, uint32_t count)
{
    const struct work *work = context;
    const struct collective *collective = work->collective;
    enum dtype dtype = collective->dtype;
    uint64_t in_bytes = collective->input_bytes, out_bytes = collective->output_bytes;
    switch ((enum collective_kind)collective->kind) {
    case COLLECTIVE_ALL_GATHER:
        for (uint32_t i = 0; i < count; i++)
            memcpy(work->out + i * in_bytes, inputs[i], in_bytes);
        break;
    case COLLECTIVE_ALL_REDUCE:
        core_combine(dtype, collective->alu, work->out, inputs, count, 0, out_bytes);
        break;
    case COLLECTIVE_REDUCE_SCATTER:
        core_combine(dtype, collective->alu, work->out, inputs, count, work->position * out_bytes,
                     out_bytes);
        break;
    case COLLECTIVE_ALL_TO_ALL:
        all_to_all(work, inputs, count);
        break;
    case COLLECTIVE_PERMUTE:
        if (work->source >= 0)
            memcpy(work->out, inputs[work->source], out_bytes);
        else
            memset(work->out, 0, out_bytes);
        break;
    case COLLECTIVE_BROADCAST:
        memcpy(work->out, inputs[0], out_bytes);
        break;
    case COLLECTIVE_ALL_TO_ALL_V:
        move_all(work, inputs);
        break;
    case COLLECTIVE_BARRIER:
        break;
    }
}

/* The group of a rank; NULL when it is in none. */
static const uint32_t *group_of(const struct collective *collective, uint32_t rank,
                                uint32_t *position)
{
    for (uint32_t i = 0; i < collective->group_count * collective->group_size; i++)
        if (collective->members[i] == rank) {
            *position = i % collective->group_size;
            return collective->members + (i - *position);
        }
    return NULL;
}

static int64_t source_of(const struct collective *collective, uint32_t rank)
{
    for (uint32_t i = 0; i < collective->group_count; i++)
        if (collective->members[(size_t)2 * i + 1] == rank)
            return collective->members[(size_t)2 * i];
    return -1;
}

/* Equal for the ranks that meet: they have the same collective in their programs. */
static uint64_t key_of(const struct collective *collective)
{
    const uint64_t parts[] = {collective->kind, collective->channel, collective->input_bytes,
                              collective->group_count, collective->group_size};
    uint64_t key = UINT64_C(0xCBF29CE484222325); /* FNV-1a, over words */
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        key = (key ^ parts[i]) * UINT64_C(0x100000001B3);
    return key;
}

/* ---- All-reduce in two steps ---------------------------------------------------------------- */

/* Each rank reduces a part of the elements, and all gather the parts: the same sums in the same
 * order, with as many times less work as there are ranks. */
struct parts {
    const struct collective *collective;
    uint8_t *own, *out;
    uint64_t bytes; /* of a part; the last ones may be shorter, or empty */
    uint32_t position;
};

static uint64_t part_bytes(const struct parts *parts, uint32_t index)
{
    uint64_t all = parts->collective->output_bytes, begin = parts->bytes * index;
    return begin >= all ? 0 : all - begin < parts->bytes ? all - begin : parts->bytes;
}

static void reduce_part(void *context, const uint8_t *const *inputs, uint32_t count)
{
    const struct parts *parts = context;
    core_combine(parts->collective->dtype, parts->collective->alu, parts->own, inputs, count,
                 parts->bytes * parts->position, part_bytes(parts, parts->position));
}

static void gather_parts(void *context, const uint8_t *const *inputs, uint32_t count)
{
    const struct parts *parts = context;
    for (uint32_t i = 0; i < count; i++)
        if (part_bytes(parts, i) > 0)
            memcpy(parts->out + parts->bytes * i, inputs[i], part_bytes(parts, i));
}

static bool reduce_in_parts(struct rank *rank, const struct exchange *whole,
                            const struct work *work, uint32_t count, uint64_t *all_ready)
{
    const struct collective *collective = work->collective;
    uint64_t item = dtype_bytes(collective->dtype), items = collective->output_bytes / item;
    struct parts parts = {.collective = collective,
                          .out = work->out,
                          .bytes = (items + count - 1) / count * item,
                          .position = work->position};
    parts.own = mem_zeroed(1, parts.bytes);
    struct exchange reduction = *whole, gathering = *whole;
    uint64_t unused;
    reduction.combine = reduce_part;
    gathering.combine = gather_parts;
    reduction.context = gathering.context = &parts;
    gathering.key = ~whole->key;
    gathering.in = parts.own;
    gathering.size = parts.bytes;
    bool ok = rank_exchange(rank, &reduction, all_ready) == EXCHANGE_DONE &&
              rank_exchange(rank, &gathering, &unused) == EXCHANGE_DONE;
    mem_free(parts.own);
    return ok;
}

/* ---- Collectives ---------------------------------------------------------------------------- */

const uint8_t *input_apart(const uint8_t *in, uint64_t size, const uint8_t *out, uint64_t out_size,
                           uint8_t **copy)
{
    uintptr_t from = (uintptr_t)in, to = (uintptr_t)out;
    *copy = NULL;
    if (!in || !out || from >= to + out_size || to >= from + size)
        return in;
    *copy = mem_alloc(size);
    memcpy(*copy, in, size);
    return *copy;
}

/* Called by the simulated core, blocks until all members have arrived. A rank that is in no group
 * has nothing to do, and does not wait. */
bool rank_run_collective(void *context, const struct collective *collective, uint32_t index,
                         const uint8_t *in, uint8_t *out, uint64_t ready, uint64_t *all_ready)
{
    (void)index;
    struct rank *rank = context;
    struct work work = {
        .collective = collective, .out = out, .rank = rank->number, .position = rank->number};
    uint8_t *copy;
    struct exchange exchange = {.key = key_of(collective),
                                .size = in ? collective->input_bytes : 0,
                                .ready = ready,
                                .combine = in || out ? combine : NULL,
                                .context = &work};
    if (collective->kind == COLLECTIVE_PERMUTE) {
        /* A rank may send to one and receive from another: all meet. */
        work.source = source_of(collective, rank->number);
    } else if (collective->group_count > 0) {
        exchange.members = group_of(collective, rank->number, &work.position);
        exchange.member_count = collective->group_size;
        work.members = exchange.members;
        if (!exchange.members) {
            *all_ready = ready;
            return true;
        }
    }
    exchange.in =
        input_apart(in, collective->input_bytes, out, out ? collective->output_bytes : 0, &copy);
    uint32_t count = exchange.member_count ? exchange.member_count : rank->count;
    bool in_parts = collective->kind == COLLECTIVE_ALL_REDUCE && out && count > 2 &&
                    collective->input_bytes >= PARTS_FROM;
    bool ok = in_parts ? reduce_in_parts(rank, &exchange, &work, count, all_ready)
                       : rank_exchange(rank, &exchange, all_ready) == EXCHANGE_DONE;
    mem_free(copy);
    return ok;
}
