/*
 * Analysis pass: each lane on its own, in parallel. Sorts events by time, measures busy time, and
 * sums self and total time per event type.
 */
#include "analyze/profile/analysis_passes.h"

/* Of an event's time, from which it is the profiler's own. */
#define AROUND_PROFILER 0.9

struct survey {
    struct analysis *analysis;
    struct type_totals *workers; /* one set per worker */
    bool *unsorted;              /* by track */
};

static int64_t duration_of(const struct lane_events *events, uint64_t event)
{
    return events->duration_ps[event] > 0 ? events->duration_ps[event] : 0;
}

/* By start, longer first, then as stored. */
static bool is_before(const struct lane_events *events, uint64_t m, uint64_t n)
{
    if (events->start_ps[m] != events->start_ps[n])
        return events->start_ps[m] < events->start_ps[n];
    return events->duration_ps[m] > events->duration_ps[n];
}

static bool by_start(const void *a, const void *b, const void *context)
{
    return is_before(context, *(const uint64_t *)a, *(const uint64_t *)b);
}

static bool check_order(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct survey *survey = context;
    const struct lane_events *events = &survey->analysis->trace.lanes[index];
    bool sorted = true;
    for (uint64_t i = 1; i < events->count && sorted; i++) {
        sorted = !is_before(events, i, i - 1);
        touch_event(i);
    }
    survey->unsorted[index] = !sorted;
    return true;
}

/* Allocates the order of unsorted lanes. */
static void make_orders(struct survey *survey)
{
    struct analysis *analysis = survey->analysis;
    size_t tracks = analysis->catalog->tracks.count;
    uint64_t events = 0;
    for (size_t i = 0; i < tracks; i++)
        events += survey->unsorted[i] ? analysis->trace.lanes[i].count : 0;
    if (events == 0)
        return;
    uint64_t *order = mem_alloc(events * sizeof *order), *rank = mem_alloc(events * sizeof *rank);
    analysis->columns.order = order;
    analysis->columns.rank = rank;
    for (size_t i = 0; i < tracks; i++) {
        if (!survey->unsorted[i])
            continue;
        analysis->lanes[i].order = order;
        analysis->lanes[i].rank = rank;
        order += analysis->trace.lanes[i].count;
        rank += analysis->trace.lanes[i].count;
    }
}

static bool can_nest(const struct track *track)
{
    return track->lane != LANE_STREAM && track->lane != LANE_COUNTER;
}

/* Allocates the self times of lanes whose events may contain others. */
static void make_self_times(struct analysis *analysis)
{
    const struct track *tracks = analysis->catalog->tracks.items;
    size_t count = analysis->catalog->tracks.count;
    uint64_t events = 0;
    for (size_t i = 0; i < count; i++)
        events += can_nest(&tracks[i]) ? analysis->trace.lanes[i].count : 0;
    if (events == 0)
        return;
    int64_t *self_ps = mem_alloc(events * sizeof *self_ps);
    analysis->columns.self_ps = self_ps;
    for (size_t i = 0; i < count; i++) {
        if (!can_nest(&tracks[i]) || analysis->trace.lanes[i].count == 0)
            continue;
        analysis->lanes[i].self_ps = self_ps;
        self_ps += analysis->trace.lanes[i].count;
    }
}

static void sort_events(uint64_t *order, const struct lane_events *events)
{
    for (uint64_t i = 0; i < events->count; i++) {
        order[i] = i;
        touch_event(i);
    }
    sort_items(order, events->count, sizeof *order, by_start, events);
}

static void sort_lane(struct lane_analysis *lane, const struct lane_events *events)
{
    sort_events(lane->order, events);
    for (uint64_t i = 0, last = 0; i < events->count; last = lane->order[i++]) {
        touch_event(i);
        touch_event_jump(last, lane->order[i]);
        lane->rank[lane->order[i]] = i;
    }
}

static struct totals *totals_for(const struct track *track, const struct type_totals *types)
{
    if (track->source == SOURCE_HOST)
        return types->host;
    if (track->source == SOURCE_DEVICE && track->lane == LANE_STREAM)
        return types->kernels;
    if (track->source == SOURCE_DEVICE && track->lane == LANE_OPS)
        return types->operations;
    return NULL;
}

/* An event that encloses the current one. */
struct open_event {
    uint64_t event;
    int64_t end_ps;
    int64_t inside_ps;   /* time of the events inside it */
    int64_t profiler_ps; /* time of the profiler's own inside it */
    bool is_profilers;   /* the profiler's own, inside it, or the capture's extent */
};

static void extent_add(struct extent *extent, int64_t start, int64_t end)
{
    if (!extent->has_times || start < extent->first_ps)
        extent->first_ps = start;
    if (!extent->has_times || end > extent->last_ps)
        extent->last_ps = end;
    extent->has_times = true;
}

/* A call that does nothing else than the profiler's own: "__exit__" around "stop_trace". */
static bool is_around_profiler(const struct open_event *open, int64_t duration)
{
    return open->profiler_ps > 0 && (double)open->profiler_ps >= AROUND_PROFILER * (double)duration;
}

static void close_event(struct lane_analysis *lane, const struct lane_events *events,
                        const struct open_event *open, struct totals *totals)
{
    int64_t duration = duration_of(events, open->event);
    if (!open->is_profilers && !is_around_profiler(open, duration))
        extent_add(&lane->work, events->start_ps[open->event], open->end_ps);
    int64_t self = duration > open->inside_ps ? duration - open->inside_ps : 0;
    if (lane->self_ps)
        lane->self_ps[open->event] = self;
    if (totals && !open->is_profilers)
        totals_add(&totals[events->type[open->event]], 1, duration, self);
}

/* Time covered by several events counts for the one that started last. An event may outlast the
 * enclosing one: the rest is taken from the next outer one. */
static void subtract_from_outer(struct open_event *open, size_t count, int64_t start, int64_t end)
{
    int64_t taken_to = start;
    for (size_t i = count; i > 0 && taken_to < end; i--) {
        int64_t until = end < open[i - 1].end_ps ? end : open[i - 1].end_ps;
        if (until <= taken_to)
            continue;
        open[i - 1].inside_ps = add_saturated(open[i - 1].inside_ps, until - taken_to);
        taken_to = until;
    }
}

/* Time of the profiler's own in the events around it. */
static void add_to_outer(struct open_event *open, size_t count, int64_t start, int64_t end)
{
    for (size_t i = 0; i < count; i++) {
        int64_t until = end < open[i].end_ps ? end : open[i].end_ps;
        if (until > start)
            open[i].profiler_ps = add_saturated(open[i].profiler_ps, until - start);
    }
}

/* Kernels on a stream may overlap slightly without nesting. */
static void measure(struct lane_analysis *lane, const struct lane_events *events,
                    const uint8_t *roles, bool nests, struct totals *totals)
{
    ARRAY(struct open_event) open = {0};
    int64_t covered_to = INT64_MIN, profiler_to = INT64_MIN;
    lane->first_ps = INT64_MAX;
    lane->last_ps = INT64_MIN;
    for (uint64_t position = 0, event = 0; position < events->count; position++) {
        touch_event_jump(event, event_at(lane, position));
        touch_event(position);
        event = event_at(lane, position);
        int64_t start = events->start_ps[event], end = event_end(events, event);
        if (!event_is_timed(events, event)) {
            if (lane->self_ps)
                lane->self_ps[event] = duration_of(events, event);
            if (totals)
                totals_add(&totals[events->type[event]], (uint64_t)events->occurrences[event],
                           duration_of(events, event), duration_of(events, event));
            continue;
        }
        if (start < lane->first_ps)
            lane->first_ps = start;
        if (end > lane->last_ps)
            lane->last_ps = end;
        uint8_t role = roles[events->type[event]];
        if (role == TYPE_PROFILER && end > profiler_to) {
            int64_t begin = start > profiler_to ? start : profiler_to;
            int64_t covered = (end < covered_to ? end : covered_to);
            lane->profiler_ps = add_saturated(lane->profiler_ps, end - begin);
            lane->busy_ps -= covered > begin ? covered - begin : 0;
            add_to_outer(open.items, open.count, begin, end);
            profiler_to = end;
        }
        bool is_profilers = end <= profiler_to || role == TYPE_CAPTURE;
        if (!is_profilers) {
            int64_t from = start > covered_to ? start : covered_to;
            if (end > from && role != TYPE_STEP) {
                lane->busy_ps = add_saturated(lane->busy_ps, end - from);
                covered_to = end;
            }
        }
        while (open.count > 0 && open.items[open.count - 1].end_ps <= start)
            close_event(lane, events, &open.items[--open.count], totals);
        if (nests) {
            subtract_from_outer(open.items, open.count, start, end);
            while (open.count > 0 && open.items[open.count - 1].end_ps < end)
                close_event(lane, events, &open.items[--open.count],
                            totals); /* enclosed but outlasting: done */
        }
        *array_push(&open) =
            (struct open_event){.event = event, .end_ps = end, .is_profilers = is_profilers};
    }
    while (open.count > 0)
        close_event(lane, events, &open.items[--open.count], totals);
    array_free(&open);
}

/* Totals and busy time with the times on the device's clock. */
static int64_t measure_on_device(const struct lane_analysis *lane, const struct lane_events *events,
                                 const uint8_t *roles, struct totals *totals)
{
    struct lane_events on_device = *events;
    struct lane_analysis measured = {.order = mem_alloc(events->count * sizeof *measured.order)};
    on_device.start_ps = lane->device_start_ps;
    on_device.duration_ps = lane->device_duration_ps;
    sort_events(measured.order, &on_device);
    measure(&measured, &on_device, roles, true, totals);
    mem_free(measured.order);
    return measured.busy_ps;
}

void measure_types(const struct analysis *analysis, uint32_t track, struct totals *totals)
{
    const struct lane_events *events = &analysis->trace.lanes[track];
    const struct lane_analysis *lane = &analysis->lanes[track];
    struct lane_analysis measured = {.order = lane->order};
    if (lane->device_start_ps)
        measure_on_device(lane, events, analysis->type_roles, totals);
    else
        measure(&measured, events, analysis->type_roles, true, totals);
}

static bool survey_lane(void *context, size_t index, unsigned worker)
{
    struct survey *survey = context;
    struct analysis *analysis = survey->analysis;
    const struct track *track = &analysis->catalog->tracks.items[index];
    struct lane_events *events = &analysis->trace.lanes[index];
    struct lane_analysis *lane = &analysis->lanes[index];
    if (events->count == 0)
        return true;
    if (lane->order)
        sort_lane(lane, events);
    struct totals *totals =
        track->lane == LANE_COUNTER ? NULL : totals_for(track, &survey->workers[worker]);
    bool is_on_device = lane->device_start_ps != NULL; /* only its extent is that of the others */
    measure(lane, events, analysis->type_roles, track->lane != LANE_STREAM,
            is_on_device ? NULL : totals);
    if (is_on_device)
        lane->busy_ps = measure_on_device(lane, events, analysis->type_roles, totals);
    return true;
}

static void type_totals_make(struct type_totals *totals, size_t types)
{
    totals->kernels = mem_zeroed(types, sizeof *totals->kernels);
    totals->operations = mem_zeroed(types, sizeof *totals->operations);
    totals->host = mem_zeroed(types, sizeof *totals->host);
}

void type_totals_free(struct type_totals *totals)
{
    mem_free(totals->kernels);
    mem_free(totals->operations);
    mem_free(totals->host);
}

/* Workers sum apart, without locks, and are merged at the end. Orders come first: self times
 * and totals need events by start. The caller frees the totals. */
void survey_lanes(struct analysis *analysis, struct pool *pool, struct type_totals *totals)
{
    size_t types = analysis->catalog->types.count, tracks = analysis->catalog->tracks.count;
    unsigned workers = pool_workers(pool);
    struct survey survey = {.analysis = analysis};
    survey.workers = mem_zeroed(workers, sizeof *survey.workers);
    survey.unsorted = mem_zeroed(tracks, sizeof *survey.unsorted);
    for (unsigned i = 0; i < workers; i++)
        type_totals_make(&survey.workers[i], types);
    pool_run(pool, tracks, check_order, &survey);
    make_orders(&survey);
    make_self_times(analysis);
    pool_run(pool, tracks, survey_lane, &survey);
    mem_free(survey.unsorted);
    *totals = survey.workers[0];
    for (unsigned i = 1; i < workers; i++) {
        for (size_t type = 0; type < types; type++) {
            totals_merge(&totals->kernels[type], &survey.workers[i].kernels[type]);
            totals_merge(&totals->operations[type], &survey.workers[i].operations[type]);
            totals_merge(&totals->host[type], &survey.workers[i].host[type]);
        }
        type_totals_free(&survey.workers[i]);
    }
    mem_free(survey.workers);
}
