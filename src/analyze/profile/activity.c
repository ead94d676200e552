/*
 * Analysis pass: how devices spent their time. Merges the streams of each device in time order:
 * when it worked, what ran alone, where it waited. Devices are processed in parallel.
 */
#include "analyze/profile/rank_steps.h"

/* Shorter gaps are what a device needs between two kernels that are queued already: 1 to 2 us. */
static const int64_t MIN_GAP_PS = 3000000;

/* Pairs of a device and a step; a thousand devices in four thousand steps. */
enum { MAX_BREAKDOWNS = 1 << 22 };

typedef ARRAY(uint32_t) track_list;

/* The lanes that are the device's work: operations if the source has them, otherwise streams,
 * otherwise all. */
static enum lane_role work_role(const struct catalog *catalog, const track_list *lanes)
{
    enum lane_role role = LANE_PLAIN;
    for (size_t i = 0; i < lanes->count; i++) {
        enum lane_role lane = catalog->tracks.items[lanes->items[i]].lane;
        if (lane == LANE_OPS || (lane == LANE_STREAM && role != LANE_OPS))
            role = lane;
    }
    return role;
}

/* A lane being read in time order. */
struct cursor {
    uint32_t track;
    uint64_t position, event;
    int64_t start_ps;
};

static bool cursor_load(const struct analysis *analysis, struct cursor *cursor)
{
    const struct lane_events *events = &analysis->trace.lanes[cursor->track];
    for (; cursor->position < events->count; cursor->position++) {
        cursor->event = event_at(&analysis->lanes[cursor->track], cursor->position);
        cursor->start_ps = events->start_ps[cursor->event];
        if (event_is_timed(events, cursor->event))
            return true;
    }
    return false;
}

static void sift_down(struct cursor *heap, size_t count, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            return;
        if (child + 1 < count && heap[child + 1].start_ps < heap[child].start_ps)
            child++;
        if (heap[at].start_ps <= heap[child].start_ps)
            return;
        struct cursor swapped = heap[at];
        heap[at] = heap[child];
        heap[child] = swapped;
        at = child;
    }
}

/* Extends the time that is covered so far; returns what is new of [start, end). An event without
 * length extends it, too: the gap before it has been counted and must not be counted again. */
static int64_t cover(int64_t *covered_to, int64_t start, int64_t end)
{
    int64_t from = start > *covered_to ? start : *covered_to;
    if (end < from)
        return 0;
    *covered_to = end;
    return sub_saturated(end, from);
}

struct merge {
    const struct analysis *analysis;
    struct device_activity *activity;
    struct breakdown_sweep *sweep; /* NULL without steps */
    struct rank_sweep *ranks;
    uint64_t last_work; /* label and type of the last event, and its kind */
    enum work_kind last_kind;
    struct idmap kinds; /* by label and type */
    const uint8_t *device_class;
    int64_t covered_to, window_to;      /* by any work: in the profile, in the window */
    int64_t without_to[DEVICE_CLASSES]; /* by work of other classes, in the window */
    int64_t without_ps[DEVICE_CLASSES];
};

static void add_gap(struct device_activity *activity, int64_t from, int64_t to,
                    struct event_ref next)
{
    if (to <= from)
        return;
    int64_t length = sub_saturated(to, from);
    if (length < MIN_GAP_PS)
        activity->short_gaps_ps = add_saturated(activity->short_gaps_ps, length);
    else
        *array_push(&activity->gaps) = (struct gap){from, to, next};
}

static enum work_kind kind_of_event(struct merge *merge, uint32_t type, uint32_t label)
{
    const struct analysis *analysis = merge->analysis;
    uint64_t work = (uint64_t)label << 32 | type;
    if (work == merge->last_work)
        return merge->last_kind;
    merge->last_work = work;
    uint32_t kind = idmap_get(&merge->kinds, work);
    if (kind == IDMAP_NONE) {
        kind = kind_of_work(
            analysis, type,
            label ? kernel_operation_of(analysis, &analysis->labels.items[label - 1], type) : NULL);
        idmap_put(&merge->kinds, work, kind);
    }
    return merge->last_kind = (enum work_kind)kind;
}

static void add_to_steps(struct merge *merge, const struct lane_events *events,
                         const struct cursor *cursor)
{
    const uint32_t *labels = merge->analysis->lanes[cursor->track].label;
    enum work_kind kind =
        kind_of_event(merge, events->type[cursor->event], labels ? labels[cursor->event] : 0);
    if (kind != WORK_AROUND)
        breakdown_work(merge->sweep, kind, cursor->start_ps, event_end(events, cursor->event));
}

/* Work without length counts on the window's borders, too: it ends the last gap. */
static bool is_in_window(const struct device_activity *activity, int64_t start, int64_t end)
{
    return start == end ? start >= activity->from_ps && start <= activity->to_ps
                        : end > activity->from_ps && start < activity->to_ps;
}

/* Events come by start. Waits are not work; copies and memsets are, but not kernels. */
static void add_work(struct merge *merge, const struct lane_events *events,
                     const struct cursor *cursor)
{
    struct device_activity *activity = merge->activity;
    if (merge->sweep)
        add_to_steps(merge, events, cursor);
    rank_sweep_work(merge->ranks, (struct event_ref){cursor->track, cursor->event});
    enum device_class class = merge->device_class[events->type[cursor->event]];
    if (class == DEVICE_WAIT)
        return;
    int64_t start = cursor->start_ps, end = event_end(events, cursor->event);
    activity->busy_ps = add_saturated(activity->busy_ps, cover(&merge->covered_to, start, end));
    if (!is_in_window(activity, start, end))
        return;
    start = start > activity->from_ps ? start : activity->from_ps;
    end = end < activity->to_ps ? end : activity->to_ps;
    if (is_kernel_type(merge->analysis, events->type[cursor->event])) {
        activity->kernels++;
        activity->kernel_ps = add_saturated(activity->kernel_ps, end - start);
    }
    add_gap(activity, merge->window_to, start, (struct event_ref){cursor->track, cursor->event});
    activity->work_ps = add_saturated(activity->work_ps, cover(&merge->window_to, start, end));
    for (unsigned i = 0; i < DEVICE_CLASSES; i++)
        if (i != class)
            merge->without_ps[i] =
                add_saturated(merge->without_ps[i], cover(&merge->without_to[i], start, end));
}

/* What steps are made of, by device. */
struct device_steps {
    breakdown_list windows;
    rank_kernel_list kernels;
    event_ref_list collectives;
};

/* Merges the lanes' events by start with a heap, in one pass for gaps, classes, breakdowns and
 * ranks. Time alone in a class is what would be uncovered without it. */
static void merge_lanes(const struct analysis *analysis, const track_list *lanes,
                        struct device_activity *activity, struct device_steps *steps)
{
    breakdown_list *windows = &steps->windows;
    struct cursor *heap = mem_alloc(lanes->count * sizeof *heap);
    size_t size = 0;
    for (size_t i = 0; i < lanes->count; i++) {
        heap[size] = (struct cursor){.track = lanes->items[i]};
        size += cursor_load(analysis, &heap[size]);
    }
    for (size_t i = size / 2; i > 0; i--)
        sift_down(heap, size, i - 1);
    struct merge merge = {.analysis = analysis,
                          .activity = activity,
                          .sweep = windows->count ? breakdown_begin(windows->items, windows->count)
                                                  : NULL,
                          .ranks = rank_sweep_begin(analysis, windows->items, windows->count),
                          .last_work = UINT64_MAX,
                          .device_class = analysis->device_class,
                          .covered_to = INT64_MIN,
                          .window_to = activity->from_ps};
    for (unsigned i = 0; i < DEVICE_CLASSES; i++)
        merge.without_to[i] = activity->from_ps;
    while (size > 0) {
        struct cursor *first = &heap[0];
        add_work(&merge, &analysis->trace.lanes[first->track], first);
        touch_event(first->position++);
        if (!cursor_load(analysis, first))
            heap[0] = heap[--size];
        sift_down(heap, size, 0);
    }
    add_gap(activity, merge.window_to, activity->to_ps, (struct event_ref){.track = TRACK_NONE});
    for (unsigned i = 0; i < DEVICE_CLASSES; i++)
        activity->alone_ps[i] = sub_saturated(activity->work_ps, merge.without_ps[i]);
    if (merge.sweep)
        breakdown_end(merge.sweep);
    rank_sweep_end(merge.ranks, &steps->kernels, &steps->collectives);
    idmap_free(&merge.kinds);
    mem_free(heap);
}

/* The parts of gaps in which the work that ends them was not launched yet: those of the thread that
 * launches it, otherwise of the one with the steps. */
static void add_host_time(const struct analysis *analysis, const struct device_activity *activity,
                          breakdown_list *steps)
{
    breakdown_gaps gaps = {0};
    const struct gap *gap;
    array_each (gap, &activity->gaps) {
        const struct launch *launch =
            gap->next.track == TRACK_NONE ? NULL : launch_of_work(analysis, gap->next);
        uint32_t lane = launch ? launch->event.track : activity->main_lane;
        int64_t to = gap->to_ps;
        if (launch) {
            const struct lane_events *events = &analysis->trace.lanes[lane];
            int64_t returned = event_end(events, launch->event.event);
            to = returned < to ? returned : to;
        }
        if (lane != TRACK_NONE && to > gap->from_ps)
            *array_push(&gaps) = (struct breakdown_gap){lane, gap->from_ps, to};
    }
    breakdown_host(analysis, steps->items, steps->count, &gaps);
    array_free(&gaps);
}

/* The steps of a process. */
struct step_range {
    uint64_t steps;
    uint32_t lane; /* of the host, or TRACK_NONE */
    int64_t from_ps, to_ps;
};

static struct step_range *step_ranges(const struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    struct step_range *ranges = mem_zeroed(catalog->tracks.count, sizeof *ranges);
    const struct step *step;
    if (!has_certain_steps(analysis))
        return ranges;
    array_each (step, &analysis->steps) {
        struct step_range *range =
            &ranges[catalog_ancestor(catalog, step->root.track, TRACK_PROCESS)];
        int64_t end = add_saturated(step->start_ps, step->host_ps);
        bool is_on_host = catalog->tracks.items[step->root.track].source == SOURCE_HOST;
        bool is_guessed = analysis->step_origin == STEPS_GUESSED; /* until the next one begins */
        if (step->device_events > 0 && (step->device_end_ps > end || is_guessed))
            end = step->device_end_ps;
        if (range->steps++ == 0)
            *range = (struct step_range){1, is_on_host ? step->root.track : TRACK_NONE,
                                         step->start_ps, end};
        range->from_ps = step->start_ps < range->from_ps ? step->start_ps : range->from_ps;
        range->to_ps = end > range->to_ps ? end : range->to_ps;
    }
    return ranges;
}

struct pass {
    const struct analysis *analysis;
    struct device_steps *steps; /* by activity */
    bool has_breakdowns;        /* devices and steps are not too many */
    const track_list *lanes;    /* by source track */
    activity_list *activities;
};

/* Runs on any thread and writes only this device's activity and steps. */
static bool measure_device(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct pass *pass = context;
    const struct analysis *analysis = pass->analysis;
    struct device_activity *activity = &pass->activities->items[index];
    const track_list *lanes = &pass->lanes[activity->device];
    activity->role = work_role(analysis->catalog, lanes);
    track_list working = {0};
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < lanes->count; i++) {
        const struct track *track = &analysis->catalog->tracks.items[lanes->items[i]];
        const struct lane_analysis *lane = &analysis->lanes[lanes->items[i]];
        if (track->lane != LANE_ASIDE)
            activity->events += track->events;
        if (track->lane != activity->role)
            continue;
        *array_push(&working) = lanes->items[i];
        activity->sum_ps = add_saturated(activity->sum_ps, lane->busy_ps);
        first = lane->first_ps < first ? lane->first_ps : first;
        last = lane->last_ps > last ? lane->last_ps : last;
    }
    if (!activity->has_steps) {
        activity->from_ps = first;
        activity->to_ps = last;
    }
    if (working.count > 0) {
        struct device_steps *own = &pass->steps[index];
        breakdown_list *steps = &own->windows;
        if (first <= last && pass->has_breakdowns)
            breakdown_windows(analysis,
                              catalog_ancestor(analysis->catalog, activity->device, TRACK_PROCESS),
                              activity->device, steps);
        merge_lanes(analysis, &working, activity, own);
        add_host_time(analysis, activity, steps);
        breakdown_finish(steps->items, steps->count);
    }
    if (working.count == 1 && analysis->lanes[working.items[0]].device_start_ps)
        activity->busy_ps = activity->sum_ps; /* on the device's own clock, which is more precise */
    array_free(&working);
    return true;
}

/* What ranks are compared by. */
static void gather_ranks(struct analysis *analysis, struct device_steps *steps, uint32_t device)
{
    struct rank_kernel *kernel;
    array_each (kernel, &steps->kernels) {
        kernel->device = device;
        *array_push(&analysis->rank_kernels) = *kernel;
    }
    const struct event_ref *work;
    array_each (work, &steps->collectives)
        *array_push(&analysis->collectives) = *work;
    array_free(&steps->kernels);
    array_free(&steps->collectives);
}

/* Breakdowns by device and step; of processes that have no device at work, by the host. */
static void gather_steps(struct analysis *analysis, struct pass *pass)
{
    const struct catalog *catalog = analysis->catalog;
    bool *has_device = mem_zeroed(catalog->tracks.count, sizeof *has_device);
    for (size_t i = 0; i < pass->activities->count; i++) {
        uint32_t source = pass->activities->items[i].device;
        uint32_t device = idmap_get(&analysis->device_by_track, source);
        struct step_breakdown *step;
        array_each (step, &pass->steps[i].windows) {
            step->device = device;
            *array_push(&analysis->breakdowns) = *step;
            has_device[catalog_ancestor(catalog, source, TRACK_PROCESS)] = true;
        }
        array_free(&pass->steps[i].windows);
        gather_ranks(analysis, &pass->steps[i], device);
    }
    breakdown_hosts(analysis, has_device);
    mem_free(has_device);
    mem_free(pass->steps);
}

/* Devices are measured in parallel and gathered in their order. Steps times devices is bounded
 * by MAX_BREAKDOWNS: beyond it there are no breakdowns. */
void measure_devices(struct analysis *analysis, struct pool *pool, activity_list *activities)
{
    const struct catalog *catalog = analysis->catalog;
    track_list *lanes = mem_zeroed(catalog->tracks.count, sizeof *lanes);
    struct step_range *ranges = step_ranges(analysis);
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (track->source != SOURCE_DEVICE)
            continue;
        if (track->level == TRACK_LANE && track->events > 0 && track->lane != LANE_COUNTER)
            *array_push(&lanes[track->parent]) = i;
        if (track->level != TRACK_SOURCE)
            continue;
        const struct step_range *steps = &ranges[catalog_ancestor(catalog, i, TRACK_PROCESS)];
        *array_push(activities) =
            (struct device_activity){.device = i,
                                     .has_steps = steps->steps > 0,
                                     .main_lane = steps->steps > 0 ? steps->lane : TRACK_NONE,
                                     .from_ps = steps->from_ps,
                                     .to_ps = steps->to_ps};
    }
    struct pass pass = {
        .analysis = analysis,
        .steps = mem_zeroed(activities->count, sizeof *pass.steps),
        .has_breakdowns =
            activities->count == 0 || analysis->steps.count <= MAX_BREAKDOWNS / activities->count,
        .lanes = lanes,
        .activities = activities,
    };
    pool_run(pool, activities->count, measure_device, &pass);
    gather_steps(analysis, &pass);
    for (size_t i = 0; i < catalog->tracks.count; i++)
        array_free(&lanes[i]);
    mem_free(lanes);
    mem_free(ranges);
}

void activities_free(activity_list *activities)
{
    struct device_activity *activity;
    array_each (activity, activities)
        array_free(&activity->gaps);
    array_free(activities);
}
