/*
 * From the options to collectives and buffers.
 */
#include "neuron/run/nccom/plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static enum collective_kind kind_of(enum nccom_op op)
{
    static const enum collective_kind kinds[] = {
        [NCCOM_ALL_REDUCE] = COLLECTIVE_ALL_REDUCE,
        [NCCOM_ALL_GATHER] = COLLECTIVE_ALL_GATHER,
        [NCCOM_ALL_GATHERV] = COLLECTIVE_ALL_TO_ALL_V,
        [NCCOM_REDUCE_SCATTER] = COLLECTIVE_REDUCE_SCATTER,
        [NCCOM_SENDRECV] = COLLECTIVE_PERMUTE,
        [NCCOM_ALL_TO_ALL] = COLLECTIVE_ALL_TO_ALL,
        [NCCOM_ALL_TO_ALLV] = COLLECTIVE_ALL_TO_ALL_V,
        [NCCOM_PERMUTE] = COLLECTIVE_PERMUTE,
    };
    return kinds[op];
}

/* ---- Groups -------------------------------------------------------------------------------- */

static bool is_pairwise(enum nccom_op op)
{
    return op == NCCOM_SENDRECV || op == NCCOM_PERMUTE;
}

static uint32_t group_size(const struct nccom_stream *stream, uint32_t workers)
{
    return stream->groups.count > 0 ? stream->groups.size : workers;
}

static bool check_ranks(const struct nccom_groups *groups, enum collective_kind kind,
                        uint32_t workers, const char *what, struct error *err)
{
    size_t count = (size_t)groups->size * groups->count;
    for (size_t i = 0; i < count; i++)
        if (groups->ranks[i] >= workers)
            return error_set(err, "%s name rank %u; there are %u workers", what, groups->ranks[i],
                             workers);
    return collective_ranks_distinct(kind, groups->ranks, count) ||
           error_set(err, "%s name a rank twice", what);
}

static bool check_groups(const struct nccom_stream *stream, uint32_t workers, struct error *err)
{
    if (stream->pairs.count > 0 && stream->op != NCCOM_PERMUTE)
        return error_set(err, "source and target pairs are for permute, not for %s",
                         nccom_op_name(stream->op));
    if (stream->metadata.entry_count > 0 && kind_of(stream->op) != COLLECTIVE_ALL_TO_ALL_V)
        return error_set(err, "metadata of variable sizes is for alltoallv and all_gatherv, not %s",
                         nccom_op_name(stream->op));
    if (stream->metadata.entry_count > 0 && stream->ratio_count > 0)
        return error_set(err, "operations with metadata cannot be coalesced");
    return check_ranks(&stream->pairs, COLLECTIVE_PERMUTE, workers, "source and target pairs",
                       err) &&
           check_ranks(&stream->groups, COLLECTIVE_ALL_REDUCE, workers, "replica groups", err);
}

/* Each rank of a group sends to the next one. */
static struct nccom_groups ring(struct plan *plan, const struct nccom_stream *stream)
{
    uint32_t size = group_size(stream, plan->nccom->workers);
    uint32_t count = stream->groups.count > 0 ? stream->groups.count : 1;
    struct nccom_groups pairs = {.size = 2, .count = size * count};
    pairs.ranks = arena_alloc(&plan->arena, (size_t)pairs.count * 2 * sizeof *pairs.ranks);
    for (uint32_t i = 0; i < pairs.count; i++) {
        uint32_t first = i / size * size, next = first + (i - first + 1) % size;
        pairs.ranks[(size_t)2 * i] = stream->groups.count > 0 ? stream->groups.ranks[i] : i;
        pairs.ranks[(size_t)2 * i + 1] =
            stream->groups.count > 0 ? stream->groups.ranks[next] : next;
    }
    return pairs;
}

/* ---- Sizes --------------------------------------------------------------------------------- */

/* The parts of a stream: *first and how many. */
static uint32_t plan_ratio(const struct nccom_stream *stream)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < stream->ratio_count; i++)
        sum += stream->ratio[i];
    return sum;
}

/* Elements of a part: a multiple of the number of ranks that divide them, and never 0. */
static uint64_t part_elements(const struct nccom_stream *stream, uint32_t part, uint32_t ranks)
{
    uint64_t elements = stream->bytes / dtype_bytes(stream->dtype);
    uint64_t unit = is_pairwise(stream->op) || stream->op == NCCOM_ALL_REDUCE ? 1 : ranks;
    if (stream->ratio_count > 0)
        elements =
            (uint64_t)((unsigned __int128)elements * stream->ratio[part] / plan_ratio(stream));
    elements -= elements % unit;
    return elements > 0 ? elements : unit;
}

bool nccom_shape(const struct nccom_stream *stream, uint32_t workers, struct nccom_shape *shape,
                 struct error *err)
{
    uint32_t ranks = group_size(stream, workers), parts = stream->ratio_count;
    uint64_t item = dtype_bytes(stream->dtype);
    *shape = (struct nccom_shape){.group_size = ranks};
    for (uint32_t i = 0; i < (parts > 0 ? parts : 1); i++) {
        uint64_t elements = part_elements(stream, i, ranks);
        if (elements > UINT32_MAX)
            return error_set(err, "%" PRIu64 " elements are more than fit in a tensor", elements);
        bool gathers = stream->op == NCCOM_ALL_GATHER || stream->op == NCCOM_ALL_GATHERV;
        bool scatters = stream->op == NCCOM_REDUCE_SCATTER;
        shape->elements += elements;
        shape->input_bytes += elements / (gathers ? ranks : 1) * item;
        shape->output_bytes += elements / (scatters ? ranks : 1) * item;
    }
    shape->bytes = shape->elements * item;
    return true;
}

/* ---- Parts --------------------------------------------------------------------------------- */

/* Coalesced operations are sized one by one, each as if it were a stream of its own; added->moves
 * belongs to the plan. */
static bool add_part(struct plan *plan, uint32_t number, uint32_t part, struct error *err)
{
    const struct nccom_stream *stream = &plan->nccom->streams[number];
    struct nccom_stream alone = *stream; /* as if this part were all */
    struct nccom_shape shape;
    uint32_t ranks = group_size(stream, plan->nccom->workers);
    alone.bytes = part_elements(stream, part, ranks) * dtype_bytes(stream->dtype);
    alone.ratio_count = 0;
    if (!nccom_shape(&alone, plan->nccom->workers, &shape, err))
        return false;
    struct plan_part *added = &plan->parts[plan->part_count++];
    *added = (struct plan_part){
        .stream = number,
        .op = stream->op,
        .kind = kind_of(stream->op),
        .dtype = stream->dtype,
        .elements = shape.elements,
        .input_bytes = shape.input_bytes,
        .output_bytes = shape.output_bytes,
        .groups = !is_pairwise(stream->op)  ? stream->groups
                  : stream->pairs.count > 0 ? stream->pairs
                                            : ring(plan, stream),
    };
    return added->kind != COLLECTIVE_ALL_TO_ALL_V || plan_moves(plan, stream, added, err);
}

static size_t plan_parts(const struct plan *plan, uint32_t stream, size_t *first)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->part_count; i++)
        if (plan->parts[i].stream == stream) {
            *first = count == 0 ? i : *first;
            count++;
        }
    return count;
}

/* ---- Iterations ---------------------------------------------------------------------------- */

/* Without -I and -W: as few NEFFs as hold them, the warm-up in the first. */
static void spread(struct plan *plan)
{
    const struct nccom_case *nccom = plan->nccom;
    uint64_t most = NCCOM_OPS_PER_NEFF / plan_iteration_size(plan);
    most = most > 0 ? most : 1;
    uint64_t warmup = nccom->warmup_iters, iters = nccom->iters;
    if (warmup + iters <= most) {
        plan->neffs[plan->neff_count++] =
            (struct plan_neff){.iters = iters, .warmup_iters = warmup, .executions = 1};
        return;
    }
    if (warmup > 0)
        plan->neffs[plan->neff_count++] =
            (struct plan_neff){.warmup_iters = warmup < most ? warmup : most,
                               .executions = (warmup + most - 1) / most};
    if (iters >= most)
        plan->neffs[plan->neff_count++] =
            (struct plan_neff){.iters = most, .executions = iters / most};
    if (iters % most > 0)
        plan->neffs[plan->neff_count++] =
            (struct plan_neff){.iters = iters % most, .executions = 1};
}

static void plan_iterations(struct plan *plan)
{
    const struct nccom_case *nccom = plan->nccom;
    if (nccom->neff_iters == 0 && nccom->neff_warmup_iters == 0) {
        spread(plan);
        return;
    }
    plan->neffs[0] = (struct plan_neff){.iters = nccom->iters,
                                        .warmup_iters = nccom->warmup_iters,
                                        .executions = nccom->neff_iters ? nccom->neff_iters : 1,
                                        .warmup_executions = nccom->neff_warmup_iters};
    plan->neff_count = 1;
}

uint64_t plan_iteration_size(const struct plan *plan)
{
    uint64_t count = 0;
    for (size_t i = 0; i < plan->part_count; i++)
        count += plan->nccom->streams[plan->parts[i].stream].ops_per_iter;
    assert(count > 0);
    return count;
}

uint64_t plan_neff_size(const struct plan *plan, const struct plan_neff *neff)
{
    return (neff->iters + neff->warmup_iters) * plan_iteration_size(plan);
}

/* In an iteration: the streams in their order, the operations of each, the parts of each. */
bool plan_place(const struct plan *plan, const struct plan_neff *neff, uint64_t collective,
                struct plan_place *place)
{
    uint64_t size = plan_iteration_size(plan), rest = collective % size;
    if (collective >= plan_neff_size(plan, neff))
        return false;
    for (uint32_t i = 0; i < plan->nccom->stream_count; i++) {
        size_t first = 0, parts = plan_parts(plan, i, &first);
        uint64_t here = parts * plan->nccom->streams[i].ops_per_iter;
        if (rest < here) {
            *place = (struct plan_place){collective / size, rest / parts, first + rest % parts};
            return true;
        }
        rest -= here;
    }
    return false;
}

/* ---- Buffers ------------------------------------------------------------------------------- */

uint64_t plan_buffers(const struct plan *plan, const struct plan_neff *neff, size_t part)
{
    const struct nccom_stream *stream = &plan->nccom->streams[plan->parts[part].stream];
    return plan->nccom->unique_buffers ? (neff->iters + neff->warmup_iters) * stream->ops_per_iter
                                       : 1;
}

void plan_buffer_name(const struct plan *plan, bool is_output, size_t part, uint64_t buffer,
                      char name[static PLAN_NAME])
{
    int used = snprintf(name, PLAN_NAME, "%s", is_output ? "output" : "input");
    if (plan->part_count > 1)
        used += snprintf(name + used, (size_t)(PLAN_NAME - used), "_%zu", part);
    if (plan->nccom->unique_buffers)
        snprintf(name + used, (size_t)(PLAN_NAME - used), "_op%" PRIu64, buffer);
}

/* ---- All of it ----------------------------------------------------------------------------- */

bool nccom_check_streams(const struct nccom_case *nccom, struct error *err)
{
    struct plan plan;
    bool ok = plan_make(&plan, nccom, err);
    if (ok)
        plan_free(&plan);
    return ok;
}

bool plan_make(struct plan *plan, const struct nccom_case *nccom, struct error *err)
{
    *plan = (struct plan){.nccom = nccom};
    size_t parts = 0;
    for (size_t i = 0; i < nccom->stream_count; i++)
        parts += nccom->streams[i].ratio_count > 0 ? nccom->streams[i].ratio_count : 1;
    plan->parts = mem_zeroed(parts, sizeof *plan->parts);
    bool ok = true;
    for (uint32_t i = 0; ok && i < nccom->stream_count; i++) {
        const struct nccom_stream *stream = &nccom->streams[i];
        ok = check_groups(stream, nccom->workers, err);
        for (uint32_t k = 0; ok && k < (stream->ratio_count > 0 ? stream->ratio_count : 1); k++)
            ok = add_part(plan, i, k, err);
    }
    if (ok)
        plan_iterations(plan);
    else
        plan_free(plan);
    return ok;
}

void plan_free(struct plan *plan)
{
    mem_free(plan->parts);
    arena_free(&plan->arena);
}
