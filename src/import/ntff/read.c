/*
 * Pushes the events of device profiles. An execution's lists are in memory; a part is its events on
 * one lane.
 */
#include "import/ntff/device_source.h"

#include <assert.h>

enum { GROUP_EVENTS = 65536 };

/* A batch being filled with events of one lane. */
struct filling {
    struct device_source *source;
    const struct part *part;
    const struct core_part *events;
    const struct device_core *core;
    const struct core_types *types;
    const struct device_execution *execution;
    struct batch *batch; /* the worker's */
    uint64_t left;       /* of all events of the part */
    struct error *err;
    bool failed;
};

static void flush(struct filling *filling)
{
    struct batch *batch = filling->batch;
    filling->left -= batch->count;
    batch->last = filling->part->is_last && filling->left == 0;
    if (batch->count == 0 && !batch->last)
        return;
    if (!filling->failed && !filling->part->sink->batch(filling->part->sink, batch,
                                                        filling->part->worker, filling->err))
        filling->failed = true;
    batch->first += batch->count;
    batch->count = 0;
}

static void begin_lane(struct filling *filling, uint32_t lane, uint64_t first)
{
    struct batch *batch = filling->batch;
    batch->track = filling->core->first_track + lane;
    batch->first = first;
    batch->has_values =
        filling->source->source.catalog.tracks.items[batch->track].lane == LANE_COUNTER;
}

static void push(struct filling *filling, int64_t start_ps, int64_t end_ps, uint32_t type,
                 double value)
{
    struct batch *batch = filling->batch;
    uint32_t at = batch->count++;
    batch->start_ps[at] = start_ps;
    batch->duration_ps[at] = end_ps - start_ps;
    batch->type[at] = type;
    batch->value[at] = value;
    batch->arg_end[at] = 0;
    if (batch->count == BATCH_EVENTS)
        flush(filling);
}

static void push_instructions(struct filling *filling, enum engine engine, bool is_matrix)
{
    const struct instruction_facts *facts = filling->core->profile->facts[engine];
    for (size_t i = 0; i < filling->execution->instructions[engine].count; i++) {
        const struct device_instruction *at = &filling->execution->instructions[engine].items[i];
        mem_touched(sizeof *at);
        if (facts[at->pc].is_matmul == is_matrix)
            push(filling, at->start_ps, at->end_ps, filling->types->instructions[engine][at->pc],
                 0);
    }
}

static uint32_t transfer_type(const struct filling *filling, uint32_t descriptor)
{
    uint32_t variable = filling->core->profile->descriptors[descriptor].variable;
    return filling->types
        ->variables[variable == NO_INDEX ? filling->core->profile->program->variable_count
                                         : variable];
}

/* Blocks are in order of their queues. */
static size_t first_block(const struct filling *filling, uint32_t queue)
{
    const struct dma_block *blocks = filling->core->profile->program->blocks;
    size_t low = 0, high = filling->execution->blocks.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (blocks[filling->execution->blocks.items[middle].block].queue < queue)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void push_blocks(struct filling *filling, uint32_t queue)
{
    size_t first = first_block(filling, queue);
    for (size_t i = first; i < first + filling->events->count; i++) {
        const struct device_block *at = &filling->execution->blocks.items[i];
        mem_touched(sizeof *at);
        push(filling, at->start_ps, at->end_ps,
             transfer_type(filling, filling->core->profile->program->blocks[at->block].first), 0);
    }
}

static void push_collectives(struct filling *filling, uint32_t cc_core, bool are_steps)
{
    const struct device_execution *execution = filling->execution;
    for (size_t i = 0; are_steps && i < execution->cc_steps.count; i++) {
        const struct device_cc_step *at = &execution->cc_steps.items[i];
        if (at->cc_core == cc_core)
            push(filling, at->start_ps, at->end_ps, filling->types->steps[at->step], 0);
    }
    for (size_t i = 0; !are_steps && i < execution->collectives.count; i++) {
        const struct device_collective *at = &execution->collectives.items[i];
        if (at->cc_core == cc_core)
            push(filling, at->start_ps, at->end_ps, filling->types->collectives[at->collective], 0);
    }
}

static void push_errors(struct filling *filling)
{
    for (size_t i = 0; i < filling->execution->errors.count; i++) {
        const struct device_error *at = &filling->execution->errors.items[i];
        uint8_t kind = at->kind <= ERROR_COLLECTIVE ? at->kind : ERROR_COLLECTIVE + 1;
        push(filling, at->time_ps, at->time_ps, filling->types->errors[kind], 0);
    }
}

static void push_throttles(struct filling *filling)
{
    for (size_t i = 0; i < filling->execution->throttles.count; i++) {
        const struct device_throttle *at = &filling->execution->throttles.items[i];
        push(filling, at->start_ps, at->end_ps, filling->types->throttles[at->kind], 0);
    }
}

static void push_scratchpad(struct filling *filling)
{
    const device_scratchpad_uses *uses = &filling->core->scratchpad[filling->events->execution];
    for (size_t i = 0; i < uses->count; i++)
        push(filling, uses->items[i].start_ps, uses->items[i].end_ps,
             filling->types->variables[uses->items[i].variable], 0);
}

static void push_series(struct filling *filling, uint32_t kind)
{
    const struct device_point *points = filling->core->usage.series[kind].items;
    for (uint64_t i = 0; i < filling->events->count; i++) {
        const struct device_point *at = &points[filling->events->first + i];
        push(filling, at->time_ps, at->time_ps, filling->types->lanes[filling->events->lane],
             at->value);
    }
}

/* Items of a list by lane, in their order within each: a counting sort. */
struct sorted {
    uint32_t *order;
    size_t *end; /* by lane: after its last */
};

typedef uint32_t lane_of_item(const struct filling *filling, size_t item);

static struct sorted sort_by_lane(const struct filling *filling, size_t count, lane_of_item *lane)
{
    size_t lanes = filling->core->lanes.count;
    struct sorted sorted = {mem_alloc(count * sizeof *sorted.order),
                            mem_zeroed(lanes + 1, sizeof *sorted.end)};
    for (size_t i = 0; i < count; i++)
        sorted.end[lane(filling, i) + 1]++;
    for (size_t i = 0; i < lanes; i++)
        sorted.end[i + 1] += sorted.end[i];
    for (size_t i = 0; i < count; i++) {
        mem_touched(sizeof(struct device_transfer));
        sorted.order[sorted.end[lane(filling, i)]++] = (uint32_t)i;
    }
    return sorted;
}

static uint32_t packet_lane(const struct filling *filling, size_t item)
{
    const struct device_transfer *at = &filling->execution->transfers.items[item];
    uint32_t block = filling->execution->blocks.items[at->run].block;
    return device_lane_of(filling->core, DEVICE_LANE_PACKETS,
                          filling->core->profile->program->blocks[block].queue, at->engine);
}

static uint32_t semaphore_lane(const struct filling *filling, size_t item)
{
    return device_lane_of(filling->core, DEVICE_LANE_SEMAPHORE,
                          filling->execution->updates.items[item].semaphore, 0);
}

/* Packets and semaphores of all lanes are in one list each: sorting them once by lane is cheaper
 * than a scan for each of hundreds of lanes. */
static void push_sorted(struct filling *filling, bool are_packets)
{
    const struct device_execution *execution = filling->execution;
    size_t count = are_packets ? execution->transfers.count : execution->updates.count;
    struct sorted sorted = sort_by_lane(filling, count, are_packets ? packet_lane : semaphore_lane);
    size_t at = 0;
    for (uint32_t lane = 0; lane < filling->core->lanes.count; lane++) {
        if (at == sorted.end[lane])
            continue;
        flush(filling);
        begin_lane(filling, lane,
                   device_lane_first(filling->core, filling->events->execution, lane));
        for (; at < sorted.end[lane]; at++) {
            mem_touched(sizeof(struct device_transfer));
            if (are_packets) {
                const struct device_transfer *item = &execution->transfers.items[sorted.order[at]];
                push(filling, item->start_ps, item->end_ps,
                     transfer_type(filling, item->descriptor), 0);
            } else {
                const struct device_update *item = &execution->updates.items[sorted.order[at]];
                push(filling, item->time_ps, item->time_ps, filling->types->lanes[lane],
                     item->value);
            }
        }
    }
    mem_free(sorted.order);
    mem_free(sorted.end);
}

/* No default case, so that the compiler reports a lane kind without one. */
static void push_part(struct filling *filling)
{
    const struct device_lane *lane = &filling->core->lanes.items[filling->events->lane];
    switch ((enum device_lane_kind)filling->events->kind) {
    case DEVICE_LANE_ENGINE:
        push_instructions(filling, (enum engine)lane->unit, false);
        break;
    case DEVICE_LANE_MATRIX:
        push_instructions(filling, ENGINE_TENSOR, true);
        break;
    case DEVICE_LANE_QUEUE:
        push_blocks(filling, lane->unit);
        break;
    case DEVICE_LANE_CC_CORE:
    case DEVICE_LANE_COLLECTIVES:
        push_collectives(filling, lane->unit, lane->kind == DEVICE_LANE_CC_CORE);
        break;
    case DEVICE_LANE_ERRORS:
        push_errors(filling);
        break;
    case DEVICE_LANE_THROTTLE:
        push_throttles(filling);
        break;
    case DEVICE_LANE_SERIES:
        push_series(filling, lane->unit);
        break;
    case DEVICE_LANE_SCRATCHPAD:
        push_scratchpad(filling);
        break;
    case DEVICE_LANE_PACKETS:
    case DEVICE_LANE_SEMAPHORE:
        push_sorted(filling, filling->events->kind == DEVICE_LANE_PACKETS);
        break;
    case DEVICE_LANE_KINDS:
        break;
    }
}

/* A source being read: each worker has one batch. */
struct reading {
    struct device_source *source;
    struct batch *batches;
};

static bool read_part(void *context, const struct part *part, struct error *err)
{
    const struct reading *reading = context;
    struct device_source *source = reading->source;
    const struct core_part *events = &source->parts.items[part->number];
    struct filling filling = {.source = source,
                              .part = part,
                              .events = events,
                              .core = &source->cores.items[events->core],
                              .types = &source->types[events->core],
                              .execution =
                                  &source->cores.items[events->core].executions[events->execution],
                              .batch = &reading->batches[part->worker],
                              .left = events->count,
                              .err = err};
    filling.batch->count = 0;
    filling.batch->sequence = part->sequence;
    begin_lane(&filling, events->lane, events->first);
    push_part(&filling);
    if (filling.batch->count > 0)
        flush(&filling);
    assert(filling.failed || filling.left == 0);
    return !filling.failed;
}

/* Groups of whole executions, unless those are large: what all executions of a program have in
 * common then repeats from group to group. */
static size_t *group_parts(const struct device_source *source, bool together, size_t *groups)
{
    size_t count = source->parts.count;
    size_t *ends = mem_alloc(count * sizeof *ends);
    uint64_t events = 0, own = 0; /* of the group, and of its last execution */
    *groups = 0;
    for (size_t i = 0; i < count; i++) {
        const struct core_part *part = &source->parts.items[i];
        bool ends_execution =
            i + 1 == count || part[1].execution != part->execution || part[1].core != part->core;
        events += part->count;
        own += part->count;
        if (!together || i + 1 == count || own >= GROUP_EVENTS ||
            (ends_execution && events >= GROUP_EVENTS)) {
            ends[(*groups)++] = i + 1;
            events = own = 0;
        }
        own = ends_execution ? 0 : own;
    }
    return ends;
}

bool read_parts(struct source *base, struct sink *sink, struct pool *pool, struct error *err)
{
    struct device_source *source = (struct device_source *)base;
    unsigned workers = pool_workers(pool);
    struct reading reading = {source, mem_alloc(workers * sizeof *reading.batches)};
    for (unsigned i = 0; i < workers; i++)
        batch_init(&reading.batches[i]);
    size_t groups, *ends = group_parts(source, sink->together > 1, &groups);
    bool ok = parts_read_groups(base, ends, groups, read_part, &reading, sink, pool, err);
    mem_free(ends);
    for (unsigned i = 0; i < workers; i++)
        batch_free(&reading.batches[i]);
    mem_free(reading.batches);
    return ok;
}
