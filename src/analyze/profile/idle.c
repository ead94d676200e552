/*
 * Why devices were idle: walks the host lanes over the gaps of each device.
 */
#include "analyze/profile/idle.h"

/* A kind of thing that the host did in a gap. */
struct part_sum {
    uint32_t type;
    enum cause cause;
    int64_t ps;
};

/* A gap while it is looked at. */
struct late_gap {
    const struct gap *gap;
    uint32_t lane; /* of the launch */
    int64_t to_ps; /* until when it is the host's */
    bool is_kept;  /* as a gap of another cause, which has more of it */
    bool is_done;
};

struct attribution {
    struct idle *idle;
    struct rules *rules;
    const struct device_activity *device;
    bool *is_root;    /* by type: of steps; what is in them alone is not recorded further */
    bool *is_visited; /* by lane */
    ARRAY(struct late_gap) gaps;
    /* The gap being visited. */
    size_t current;
    bool is_last_try;
    int64_t covered_ps, waited_ps;
    uint32_t waited_type;
    ARRAY(struct part_sum) parts;
};

static void add_cost(struct cause_totals *totals, uint32_t type, int64_t ps)
{
    totals->cost_ps = add_saturated(totals->cost_ps, ps);
    int64_t *sum = type == NO_INDEX ? &totals->unrecorded_ps : &totals->by_type[type];
    *sum = add_saturated(*sum, ps);
}

/* Devices that work together idle together: one gap stands for all that overlap it. */
static bool overlap(const struct cause_gap *a, const struct cause_gap *b)
{
    return a->cost_ps > 0 && b->cost_ps > 0 && a->from_ps < b->to_ps && b->from_ps < a->to_ps;
}

static void keep_longest(struct cause_totals *totals, const struct gap *gap, int64_t cost_ps)
{
    struct cause_gap kept = {cost_ps, gap->from_ps, gap->to_ps, gap->next};
    totals->gaps++;
    for (size_t i = 0; i < MAX_GAPS_KEPT; i++) {
        struct cause_gap next = totals->longest[i];
        bool is_same = overlap(&kept, &next);
        if (kept.cost_ps > next.cost_ps) {
            totals->longest[i] = kept;
            kept = next;
        }
        if (is_same)
            return;
    }
}

static enum cause cause_of(enum host_class class)
{
    static const enum cause causes[] = {
        [HOST_PLAIN] = CAUSE_HOST,        [HOST_LAUNCH] = CAUSE_HOST,
        [HOST_SYNC] = CAUSE_SYNC,         [HOST_ALLOCATION] = CAUSE_ALLOCATION,
        [HOST_INPUT] = CAUSE_INPUT,       [HOST_COMPILE] = CAUSE_COMPILE,
        [HOST_PROFILER] = CAUSE_PROFILER,
    };
    return causes[class];
}

/* What kind of wait a call is, by its name: "cudaMemcpy", "cuMemsetD8_v2", "hipMemcpy". */
static enum cause cause_of_wait(const struct analysis *analysis, uint32_t type)
{
    static const struct text libraries[] = {TEXT("cuda"), TEXT("cu"), TEXT("hip")};
    if (type == NO_INDEX)
        return CAUSE_SYNC;
    struct text name = catalog_type_label(analysis->catalog, type);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        if (!text_starts(name, libraries[i]))
            continue;
        struct text rest = {name.data + libraries[i].size, name.size - libraries[i].size};
        if (text_starts(rest, TEXT("Memcpy")))
            return CAUSE_COPY;
        if (text_starts(rest, TEXT("Memset")))
            return CAUSE_SET;
    }
    return CAUSE_SYNC;
}

/* Gives the costs of the current gap to their causes. */
static void finish_gap(struct attribution *a)
{
    if (a->current == SIZE_MAX)
        return;
    struct late_gap *late = &a->gaps.items[a->current];
    int64_t length = sub_saturated(late->to_ps, late->gap->from_ps);
    if (!a->is_last_try && a->covered_ps < length / 2 && a->device->main_lane != TRACK_NONE &&
        a->device->main_lane != late->lane)
        return; /* the lane of the steps may tell more */
    late->is_done = true;
    if (length > a->covered_ps)
        *array_push(&a->parts) = (struct part_sum){NO_INDEX, CAUSE_HOST, length - a->covered_ps};
    int64_t costs[CAUSES] = {0}, waited = a->waited_ps;
    enum cause host = length < LAUNCH_GAP_PS ? CAUSE_LAUNCH : CAUSE_HOST;
    enum cause wait = cause_of_wait(a->rules->analysis, a->waited_type);
    const struct part_sum *part;
    array_each (part, &a->parts) {
        int64_t ps = part->ps;
        enum cause cause = part->cause;
        if (cause == CAUSE_HOST) { /* done while it waited, it would have cost nothing */
            int64_t saved = waited < ps ? waited : ps;
            waited -= saved;
            ps -= saved;
            costs[wait] = add_saturated(costs[wait], saved);
            if (saved > 0)
                add_cost(&a->idle->causes[wait], a->waited_type, saved);
            cause = host;
        }
        costs[cause] = add_saturated(costs[cause], ps);
        if (ps > 0)
            add_cost(&a->idle->causes[cause], part->type, ps);
    }
    if (late->is_kept)
        return;
    enum cause main = CAUSE_HOST;
    for (unsigned i = 0; i < CAUSES; i++)
        main = costs[i] > costs[main] ? (enum cause)i : main;
    keep_longest(&a->idle->causes[main], late->gap, costs[main]);
}

static void begin_gap(struct attribution *a, size_t gap)
{
    a->current = gap;
    a->covered_ps = a->waited_ps = 0;
    a->waited_type = NO_INDEX;
    a->parts.count = 0;
}

/* Parts come gap by gap, in time order. A wait that reaches into the gap, or ended just before
 * it, is remembered: the device ran dry while the host waited. */
static void take_part(void *context, const struct host_range *range, const struct host_part *part)
{
    struct attribution *a = context;
    bool is_first = a->current != range->owner;
    if (is_first) {
        finish_gap(a);
        begin_gap(a, range->owner);
    }
    int64_t ps = sub_saturated(part->to_ps, part->from_ps);
    a->covered_ps = add_saturated(a->covered_ps, ps);
    if (part->from_ps == range->from_ps && part->class == HOST_SYNC) {
        a->waited_ps = sub_saturated(part->from_ps, part->class_from_ps);
        a->waited_type = part->class_type;
    } else if (is_first && part->has_waited &&
               sub_saturated(range->from_ps, part->waited_to_ps) <= SYNC_RETURN_PS) {
        a->waited_ps = sub_saturated(part->waited_to_ps, part->waited_from_ps);
        a->waited_type = part->waited_type;
    }
    enum cause cause = cause_of(part->class);
    if (cause == CAUSE_SYNC)
        cause = cause_of_wait(a->rules->analysis, part->class_type);
    uint32_t type = cause == CAUSE_HOST ? part->type : part->class_type;
    if (a->is_root[type])
        type = NO_INDEX;
    for (size_t i = 0; i < a->parts.count; i++)
        if (a->parts.items[i].type == type && a->parts.items[i].cause == cause) {
            a->parts.items[i].ps = add_saturated(a->parts.items[i].ps, ps);
            return;
        }
    *array_push(&a->parts) = (struct part_sum){type, cause, ps};
}

static void visit_lane(struct attribution *a, uint32_t lane, bool is_last_try)
{
    range_list ranges = {0};
    for (size_t i = 0; i < a->gaps.count; i++) {
        const struct late_gap *late = &a->gaps.items[i];
        if (!late->is_done && (late->lane == lane || is_last_try))
            *array_push(&ranges) = (struct host_range){late->gap->from_ps, late->to_ps, i};
    }
    a->current = SIZE_MAX;
    a->is_last_try = is_last_try;
    visit_host(a->rules->analysis, lane, 0, &ranges, take_part, a);
    finish_gap(a);
    array_free(&ranges);
}

/* Gaps during which nothing was recorded on the lanes. */
static void finish_rest(struct attribution *a)
{
    a->is_last_try = true;
    for (size_t i = 0; i < a->gaps.count; i++)
        if (!a->gaps.items[i].is_done) {
            begin_gap(a, i);
            finish_gap(a);
        }
}

/* Splits a gap between the host and the device; what is the host's is looked at later. */
static void take_gap(struct attribution *a, const struct gap *gap)
{
    const struct analysis *analysis = a->rules->analysis;
    const struct launch *launch =
        gap->next.track == TRACK_NONE ? NULL : launch_of_work(analysis, gap->next);
    int64_t length = sub_saturated(gap->to_ps, gap->from_ps);
    if (!launch && a->device->main_lane == TRACK_NONE) {
        add_cost(&a->idle->causes[CAUSE_UNKNOWN], NO_INDEX, length);
        keep_longest(&a->idle->causes[CAUSE_UNKNOWN], gap, length);
        return;
    }
    struct late_gap late = {.gap = gap, .lane = a->device->main_lane, .to_ps = gap->to_ps};
    if (launch) {
        int64_t returned =
            event_end(&analysis->trace.lanes[launch->event.track], launch->event.event);
        late.lane = launch->event.track;
        late.to_ps = returned < gap->to_ps ? returned : gap->to_ps;
    }
    int64_t queued = late.to_ps > gap->from_ps ? sub_saturated(gap->to_ps, late.to_ps) : length;
    if (queued < length && queued <= QUEUED_GAP_PS) { /* the latency of a launch that came late */
        late.to_ps = gap->to_ps;
        queued = 0;
    }
    struct cause_totals *totals =
        &a->idle->causes[queued <= QUEUED_GAP_PS ? CAUSE_QUEUED : CAUSE_BLOCKED];
    if (queued > 0)
        add_cost(totals, NO_INDEX, queued);
    late.is_kept = queued > length / 2;
    if (late.is_kept)
        keep_longest(totals, gap, queued);
    if (queued < length)
        *array_push(&a->gaps) = late;
}

static void measure_device(struct attribution *a)
{
    const struct gap *gap;
    array_each (gap, &a->device->gaps) {
        mem_touched(MEM_JUMP);
        take_gap(a, gap);
    }
    add_cost(&a->idle->causes[CAUSE_QUEUED], NO_INDEX, a->device->short_gaps_ps);
    memset(a->is_visited, 0, a->rules->analysis->catalog->tracks.count);
    for (size_t i = 0; i < a->gaps.count; i++) {
        uint32_t lane = a->gaps.items[i].lane;
        if (lane != a->device->main_lane && !a->is_visited[lane])
            visit_lane(a, lane, false);
        a->is_visited[lane] = true;
    }
    if (a->device->main_lane != TRACK_NONE)
        visit_lane(a, a->device->main_lane, true);
    finish_rest(a);
}

/* Annotations of steps span everything and explain nothing, so their types are roots that get
 * no blame. The caller frees with idle_free. */
void idle_measure(struct idle *idle, struct rules *rules)
{
    const struct analysis *analysis = rules->analysis;
    *idle = (struct idle){0};
    for (unsigned i = 0; i < CAUSES; i++)
        idle->causes[i].by_type = mem_zeroed(analysis->catalog->types.count, sizeof(int64_t));
    bool *is_root = mem_zeroed(analysis->catalog->types.count, sizeof *is_root);
    bool *is_visited = mem_zeroed(analysis->catalog->tracks.count, sizeof *is_visited);
    const struct step *step;
    array_each (step, &analysis->steps)
        is_root[analysis->trace.lanes[step->root.track].type[step->root.event]] =
            analysis->step_origin == STEPS_ANNOTATED;
    for (size_t i = 0; i < rules->devices.count; i++) {
        struct attribution a = {.idle = idle,
                                .rules = rules,
                                .device = rules->devices.items[i],
                                .is_root = is_root,
                                .is_visited = is_visited,
                                .current = SIZE_MAX};
        measure_device(&a);
        array_free(&a.gaps);
        array_free(&a.parts);
    }
    mem_free(is_root);
    mem_free(is_visited);
}

int64_t idle_limit(struct idle *idle, int64_t idle_ps)
{
    int64_t claimed_ps = 0;
    for (unsigned i = 0; i < CAUSES; i++)
        claimed_ps = add_saturated(claimed_ps, idle->causes[i].cost_ps);
    int64_t excess_ps = claimed_ps > idle_ps ? sub_saturated(claimed_ps, idle_ps) : 0;
    for (int64_t left_ps = excess_ps; left_ps > 0;) {
        struct cause_totals *most = &idle->causes[0];
        for (unsigned i = 1; i < CAUSES; i++)
            if (idle->causes[i].cost_ps > most->cost_ps)
                most = &idle->causes[i];
        int64_t taken_ps = most->cost_ps < left_ps ? most->cost_ps : left_ps;
        most->cost_ps -= taken_ps;
        left_ps = taken_ps > 0 ? left_ps - taken_ps : 0;
    }
    return excess_ps;
}

void idle_free(struct idle *idle)
{
    for (unsigned i = 0; i < CAUSES; i++)
        mem_free(idle->causes[i].by_type);
}
