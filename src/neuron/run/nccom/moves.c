/*
 * The data that operations of variable size move, from counts and displacements.
 */
#include "neuron/run/nccom/plan.h"

#include <inttypes.h>
#include <stdlib.h>

/* One group, one source of it. */
struct source {
    const struct nccom_stream *stream;
    const uint32_t *ranks; /* NULL: all */
    uint32_t size, position;
    uint64_t piece; /* elements, where there is no metadata */
};

static uint32_t rank_at(const struct source *source, uint32_t position)
{
    return source->ranks ? source->ranks[position] : position;
}

static const struct nccom_counts *counts_of(const struct source *source, uint32_t position)
{
    const struct nccom_metadata *metadata = &source->stream->metadata;
    if (metadata->entry_count == 0)
        return NULL;
    return &metadata->entries[metadata->entry_count > 1 ? rank_at(source, position) : 0];
}

/* The smaller of what is sent and what is received. In elements. */
static struct collective_move move_to(const struct source *source, uint32_t target)
{
    bool gathers = source->stream->op == NCCOM_ALL_GATHERV;
    uint32_t column = gathers ? 0 : target; /* a gathered piece is the same for all */
    const struct nccom_counts *sent = counts_of(source, source->position);
    const struct nccom_counts *received = counts_of(source, target);
    struct collective_move move = {.source = rank_at(source, source->position),
                                   .target = rank_at(source, target),
                                   .from = column * source->piece,
                                   .to = source->position * source->piece,
                                   .bytes = source->piece};
    if (sent) {
        move.from = sent->send_displs[column];
        move.to = received->recv_displs[source->position];
        move.bytes = sent->send_counts[column] < received->recv_counts[source->position]
                         ? sent->send_counts[column]
                         : received->recv_counts[source->position];
    }
    return move;
}

/* To bytes; false when it is not inside the buffers. */
static bool fit(struct collective_move *move, const struct plan_part *part, struct error *err)
{
    uint64_t item = dtype_bytes(part->dtype);
    uint64_t in = part->input_bytes / item, out = part->output_bytes / item;
    if (move->bytes > in || move->from > in - move->bytes || move->bytes > out ||
        move->to > out - move->bytes)
        return error_set(err,
                         "rank %u sends %" PRIu64 " elements from %" PRIu64 " to %" PRIu64
                         " of rank %u; inputs have %" PRIu64 " and outputs %" PRIu64,
                         move->source, move->bytes, move->from, move->to, move->target, in, out);
    move->from *= item;
    move->to *= item;
    move->bytes *= item;
    return true;
}

static bool overlap(const struct collective_move *a, const struct collective_move *b)
{
    return a->target == b->target && a->to < b->to + b->bytes && b->to < a->to + a->bytes;
}

static bool check_overlaps(const struct plan_part *part, struct error *err)
{
    for (uint32_t i = 0; i < part->move_count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (overlap(&part->moves[i], &part->moves[k]))
                return error_set(err, "ranks %u and %u send to the same elements of rank %u",
                                 part->moves[k].source, part->moves[i].source,
                                 part->moves[i].target);
    return true;
}

static bool add_moves(const struct source *source, struct plan_part *part, struct error *err)
{
    for (uint32_t target = 0; target < source->size; target++) {
        struct collective_move move = move_to(source, target);
        if (!fit(&move, part, err))
            return false;
        if (move.bytes > 0)
            part->moves[part->move_count++] = move;
    }
    return true;
}

static int compare_sources(const void *a, const void *b)
{
    const struct source *x = a, *y = b;
    uint32_t first = rank_at(x, x->position), second = rank_at(y, y->position);
    return (first > second) - (first < second);
}

static bool check_metadata(const struct nccom_metadata *metadata, uint32_t workers, uint32_t size,
                           struct error *err)
{
    if (metadata->entry_count == 0)
        return true;
    if (metadata->entry_count != 1 && metadata->entry_count != workers)
        return error_set(err,
                         "the metadata has %u entries: expected one, or one for each of %u "
                         "ranks",
                         metadata->entry_count, workers);
    return metadata->group_size == size ||
           error_set(err, "the metadata has %u counts in a list: groups have %u ranks",
                     metadata->group_size, size);
}

bool plan_moves(struct plan *plan, const struct nccom_stream *stream, struct plan_part *part,
                struct error *err)
{
    const struct nccom_groups *groups = &stream->groups;
    uint32_t size = groups->count > 0 ? groups->size : plan->nccom->workers;
    uint32_t group_count = groups->count > 0 ? groups->count : 1;
    if (!check_metadata(&stream->metadata, plan->nccom->workers, size, err))
        return false;
    size_t count = (size_t)group_count * size;
    struct source *sources = arena_alloc(&plan->arena, count * sizeof *sources);
    for (size_t i = 0; i < count; i++)
        sources[i] =
            (struct source){.stream = stream,
                            .ranks = groups->count > 0 ? groups->ranks + i / size * size : NULL,
                            .size = size,
                            .position = (uint32_t)(i % size),
                            .piece = part->elements / size};
    qsort(sources, count, sizeof *sources, compare_sources);
    part->moves = arena_alloc(&plan->arena, count * size * sizeof *part->moves);
    for (size_t i = 0; i < count; i++)
        if (!add_moves(&sources[i], part, err))
            return false;
    return stream->metadata.entry_count == 0 || check_overlaps(part, err);
}
