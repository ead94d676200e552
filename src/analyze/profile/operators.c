/*
 * Analysis pass: the calls of operators, annotations and modules on host threads, nested in each
 * other; the call that each launch lies in; and of calls of a backward pass, the call of the
 * forward pass they belong to. Captures without operators cost nothing.
 */
#include "analyze/profile/analysis_passes.h"

#include <stdatomic.h>

static bool is_call(uint8_t role)
{
    return role == TYPE_OPERATOR || role == TYPE_ANNOTATION || role == TYPE_MODULE;
}

struct nesting {
    struct analysis *analysis;
    size_t *first_launch;  /* by track: in analysis.launches, where those of a lane are in order */
    uint32_t **open_calls; /* by worker, then by event type: open calls of the lane being walked */
};

static bool has_calls(const struct analysis *analysis)
{
    for (size_t i = 0; i < analysis->catalog->types.count; i++)
        if (is_call(analysis->type_roles[i]))
            return true;
    return false;
}

static bool count_calls(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct analysis *analysis = context;
    const struct track *track = &analysis->catalog->tracks.items[index];
    const struct lane_events *events = &analysis->trace.lanes[index];
    if (track->source != SOURCE_HOST || track->lane == LANE_COUNTER)
        return true;
    uint32_t calls = 0;
    for (uint64_t i = 0; i < events->count; i++) {
        touch_event(i);
        calls += is_call(analysis->type_roles[events->type[i]]) && event_is_timed(events, i);
    }
    analysis->lanes[index].calls = calls;
    return true;
}

static bool make_calls(struct analysis *analysis)
{
    uint64_t count = 0;
    for (size_t i = 0; i < analysis->catalog->tracks.count; i++) {
        analysis->lanes[i].first_call = (uint32_t)count;
        count += analysis->lanes[i].calls;
    }
    if (count == 0 || count >= NO_INDEX)
        return false;
    analysis->calls.items = mem_zeroed(count, sizeof *analysis->calls.items);
    analysis->calls.count = analysis->calls.capacity = count;
    return true;
}

/* A call that has not ended yet. */
struct open_call {
    int64_t end_ps;
    uint32_t call;
};
typedef ARRAY(struct open_call) call_stack;

static uint32_t type_of(const struct analysis *analysis, uint32_t call)
{
    return analysis->trace.type[analysis->calls.items[call].index];
}

static uint32_t innermost(const call_stack *open)
{
    return open->count ? open->items[open->count - 1].call : NO_INDEX;
}

static void open_call(struct analysis *analysis, uint32_t number, uint64_t index, int64_t end_ps,
                      call_stack *open, uint32_t *open_calls)
{
    struct call *call = &analysis->calls.items[number];
    uint32_t type = analysis->trace.type[index];
    uint8_t role = analysis->type_roles[type];
    call->index = index;
    call->parent = innermost(open);
    call->forward = NO_INDEX;
    call->is_outermost = open_calls[type]++ == 0;
    const struct call *parent =
        call->parent == NO_INDEX ? NULL : &analysis->calls.items[call->parent];
    bool in_operator = parent && parent->operator!= NO_INDEX &&
                                 analysis->type_roles[type_of(analysis, parent->operator)] ==
                                 TYPE_OPERATOR;
    if (role == TYPE_OPERATOR || (role == TYPE_ANNOTATION && !in_operator))
        call->operator= number;
    else
        call->operator= parent ? parent->operator: NO_INDEX;
    *array_push(open) = (struct open_call){.end_ps = end_ps, .call = number};
}

static void close_calls(const struct analysis *analysis, call_stack *open, int64_t until_ps,
                        uint32_t *open_calls)
{
    while (open->count > 0 && open->items[open->count - 1].end_ps <= until_ps)
        open_calls[type_of(analysis, open->items[--open->count].call)]--;
}

/* Whether the launch with this index is the event. */
static bool is_launch(const struct analysis *analysis, size_t launch, uint32_t track,
                      uint64_t event)
{
    if (launch == analysis->launches.count)
        return false;
    const struct event_ref *ref = &analysis->launches.items[launch].event;
    return ref->track == track && ref->event == event;
}

/* Walks a lane in order of time. Of a call and a launch of equal extent, the call is around the
 * launch, however they are stored: a launch waits for the next event that begins or ends elsewhere.
 */
static void nest_lane(struct analysis *analysis, uint32_t track, size_t next_launch,
                      uint32_t *open_calls)
{
    const struct lane_events *events = &analysis->trace.lanes[track];
    const struct lane_analysis *lane = &analysis->lanes[track];
    uint32_t number = lane->first_call;
    size_t waiting = next_launch; /* the first launch without its call; next_launch: none waits */
    int64_t start = INT64_MIN, end = INT64_MIN;
    call_stack open = {0};
    for (uint64_t position = 0; position < events->count; position++) {
        uint64_t event = event_at(lane, position);
        touch_event(position);
        if (!event_is_timed(events, event))
            continue;
        if (events->start_ps[event] != start || event_end(events, event) != end)
            for (; waiting < next_launch; waiting++)
                analysis->launches.items[waiting].call = innermost(&open);
        start = events->start_ps[event];
        end = event_end(events, event);
        close_calls(analysis, &open, start, open_calls);
        if (is_call(analysis->type_roles[events->type[event]]))
            open_call(analysis, number++, lane_first(&analysis->trace, track) + event, end, &open,
                      open_calls);
        if (is_launch(analysis, next_launch, track, event))
            next_launch++;
    }
    for (; waiting < next_launch; waiting++)
        analysis->launches.items[waiting].call = innermost(&open);
    close_calls(analysis, &open, INT64_MAX, open_calls);
    array_free(&open);
}

static bool nest_calls(void *context, size_t track, unsigned worker)
{
    const struct nesting *nesting = context;
    if (nesting->analysis->lanes[track].calls > 0)
        nest_lane(nesting->analysis, (uint32_t)track, nesting->first_launch[track],
                  nesting->open_calls[worker]);
    return true;
}

static void nest_all(struct analysis *analysis, struct pool *pool)
{
    size_t tracks = analysis->catalog->tracks.count;
    unsigned workers = pool_workers(pool);
    struct nesting nesting = {.analysis = analysis};
    nesting.first_launch = mem_zeroed(tracks, sizeof *nesting.first_launch);
    for (size_t i = analysis->launches.count; i > 0; i--)
        nesting.first_launch[analysis->launches.items[i - 1].event.track] = i - 1;
    nesting.open_calls = mem_zeroed(workers, sizeof *nesting.open_calls);
    for (unsigned i = 0; i < workers; i++)
        nesting.open_calls[i] = mem_zeroed(analysis->catalog->types.count, sizeof(uint32_t));
    pool_run(pool, tracks, nest_calls, &nesting);
    for (unsigned i = 0; i < workers; i++)
        mem_free(nesting.open_calls[i]);
    mem_free(nesting.open_calls);
    mem_free(nesting.first_launch);
}

/* Device lanes: the operator of each event. */
static void make_operator_columns(struct analysis *analysis)
{
    uint64_t events = 0;
    for (size_t i = 0; i < analysis->catalog->tracks.count; i++)
        events += analysis->lanes[i].correlation ? analysis->trace.lanes[i].count : 0;
    uint32_t *operator= mem_zeroed(events, sizeof *operator);
    analysis->columns.operator= operator;
    for (size_t i = 0; i < analysis->catalog->tracks.count; i++) {
        if (!analysis->lanes[i].correlation)
            continue;
        analysis->lanes[i].operator= operator;
        operator+= analysis->trace.lanes[i].count;
    }
}

void find_calls(struct analysis *analysis, struct pool *pool)
{
    if (!has_calls(analysis))
        return;
    pool_run(pool, analysis->catalog->tracks.count, count_calls, analysis);
    if (!make_calls(analysis))
        return;
    nest_all(analysis, pool);
    make_operator_columns(analysis);
    link_backward(analysis);
}

const struct call *operator_call(const struct analysis *analysis, uint32_t track, uint64_t event)
{
    const struct lane_analysis *lane = &analysis->lanes[track];
    if (lane->operator)
        return lane->operator[event] ? &analysis->calls.items[lane->operator[event] - 1] : NULL;
    uint32_t call = lane->calls ? find_call(analysis, track, event) : NO_INDEX;
    uint32_t operator= call == NO_INDEX ? NO_INDEX : analysis->calls.items[call].operator;
    return operator== NO_INDEX ? NULL : & analysis->calls.items[operator];
}

static bool by_id(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct external *m = a, *n = b;
    if (m->id != n->id)
        return m->id < n->id;
    return m->track != n->track ? m->track < n->track : m->event < n->event;
}

void sort_externals(struct analysis *analysis)
{
    sort_items(analysis->externals.items, analysis->externals.count,
               sizeof *analysis->externals.items, by_id, NULL);
}

uint32_t find_external(const struct analysis *analysis, uint32_t process, uint64_t id)
{
    enum { MAX_PROCESSES = 4096 }; /* that have the same id */
    size_t low = 0, high = analysis->externals.count;
    mem_touched((size_t)4 * MEM_JUMP);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (analysis->externals.items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = analysis->externals.count - low > MAX_PROCESSES ? low + MAX_PROCESSES
                                                                 : analysis->externals.count;
    for (; low < end && analysis->externals.items[low].id == id; low++) {
        const struct external *found = &analysis->externals.items[low];
        if (catalog_ancestor(analysis->catalog, found->track, TRACK_PROCESS) == process)
            return find_call(analysis, found->track, found->event);
    }
    return NO_INDEX;
}
