/*
 * What a device did in each step: a sweep over its work in time order, of which at any time the
 * most important kind counts, and over what the launching thread did while it was idle. Steps may
 * overlap; each gets what happens in its time.
 */
#include "analyze/profile/step_breakdown.h"

#include "analyze/profile/findings.h"

void breakdown_add(struct breakdown_walk *walk, int64_t from, int64_t to, size_t offset)
{
    while (walk->next < walk->count && walk->windows[walk->next].start_ps < to &&
           walk->open_count < BREAKDOWN_OPEN)
        walk->open[walk->open_count++] = &walk->windows[walk->next++];
    for (size_t i = 0; i < walk->open_count;) {
        struct step_breakdown *step = walk->open[i];
        if (step->end_ps <= from) {
            walk->open[i] = walk->open[--walk->open_count];
            continue;
        }
        int64_t start = from > step->start_ps ? from : step->start_ps;
        int64_t end = to < step->end_ps ? to : step->end_ps;
        if (end > start) {
            int64_t *part_ps = (int64_t *)((char *)step + offset);
            *part_ps = add_saturated(*part_ps, sub_saturated(end, start));
        }
        i++;
    }
}

static size_t part_offset(enum step_part part)
{
    return offsetof(struct step_breakdown, parts_ps) + (size_t)part * sizeof(int64_t);
}

struct breakdown_sweep {
    struct breakdown_walk walk;
    int64_t now_ps;
    int64_t end_ps[WORK_KINDS]; /* until when work of a kind goes on */
};

/* Work until a time counts for its most important kind. */
static void sweep_to(struct breakdown_sweep *sweep, int64_t to)
{
    static const enum step_part parts[] = {
        [WORK_COMPUTE_16] = PART_COMPUTE_16,
        [WORK_COMPUTE_32] = PART_COMPUTE_32,
        [WORK_COMPUTE_OTHER] = PART_COMPUTE_OTHER,
        [WORK_TO_HOST] = PART_TO_HOST,
        [WORK_OUTFEED] = PART_TO_HOST,
        [WORK_BETWEEN] = PART_BETWEEN,
        [WORK_COLLECTIVES] = PART_COLLECTIVES,
        [WORK_TO_DEVICE] = PART_TO_DEVICE,
        [WORK_INFEED] = PART_TO_DEVICE,
        [WORK_OTHER] = PART_OTHER,
    };
    while (sweep->now_ps < to) {
        int64_t from = sweep->now_ps, until = to;
        unsigned kind = 0;
        while (kind < WORK_KINDS && sweep->end_ps[kind] <= from)
            kind++;
        sweep->now_ps = until;
        if (kind == WORK_KINDS)
            return; /* nothing runs */
        until = sweep->end_ps[kind] < to ? sweep->end_ps[kind] : to;
        sweep->now_ps = until;
        breakdown_add(&sweep->walk, from, until, part_offset(parts[kind]));
        if (kind == WORK_INFEED)
            breakdown_add(&sweep->walk, from, until, offsetof(struct step_breakdown, infeed_ps));
        if (kind == WORK_OUTFEED)
            breakdown_add(&sweep->walk, from, until, offsetof(struct step_breakdown, outfeed_ps));
    }
}

struct breakdown_sweep *breakdown_begin(struct step_breakdown *windows, size_t count)
{
    struct breakdown_sweep *sweep = mem_zeroed(1, sizeof *sweep);
    sweep->walk = (struct breakdown_walk){.windows = windows, .count = count};
    sweep->now_ps = INT64_MIN;
    for (unsigned i = 0; i < WORK_KINDS; i++)
        sweep->end_ps[i] = INT64_MIN;
    return sweep;
}

void breakdown_work(struct breakdown_sweep *sweep, enum work_kind kind, int64_t start_ps,
                    int64_t end_ps)
{
    sweep_to(sweep, start_ps);
    if (end_ps > sweep->end_ps[kind])
        sweep->end_ps[kind] = end_ps;
}

void breakdown_end(struct breakdown_sweep *sweep)
{
    sweep_to(sweep, INT64_MAX);
    for (size_t i = 0; i < sweep->walk.count; i++) {
        struct step_breakdown *step = &sweep->walk.windows[i];
        step->idle_ps = sub_saturated(step->end_ps, step->start_ps);
        for (unsigned part = 0; part < STEP_PARTS; part++)
            step->idle_ps -= step->parts_ps[part];
    }
    mem_free(sweep);
}

/* --- what the host did meanwhile --- */

static void take_part(void *context, const struct host_range *range, const struct host_part *part)
{
    static const enum step_part parts[HOST_CLASSES] = {
        [HOST_PLAIN] = PART_HOST_COMPUTE, [HOST_LAUNCH] = PART_LAUNCH,
        [HOST_SYNC] = PART_OTHER,         [HOST_ALLOCATION] = PART_HOST_COMPUTE,
        [HOST_INPUT] = PART_INPUT_WAIT,   [HOST_COMPILE] = PART_COMPILE,
        [HOST_PROFILER] = PART_OTHER,
    };
    (void)range;
    if (parts[part->class] != PART_OTHER)
        breakdown_add(context, part->from_ps, part->to_ps, part_offset(parts[part->class]));
}

static bool by_lane(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct breakdown_gap *m = a, *n = b;
    return m->lane != n->lane ? m->lane < n->lane : m->from_ps < n->from_ps;
}

void breakdown_host(const struct analysis *analysis, struct step_breakdown *windows, size_t count,
                    breakdown_gaps *gaps)
{
    sort_items(gaps->items, gaps->count, sizeof *gaps->items, by_lane, NULL);
    range_list ranges = {0};
    for (size_t i = 0; i < gaps->count; i++) {
        const struct breakdown_gap *gap = &gaps->items[i];
        *array_push(&ranges) = (struct host_range){gap->from_ps, gap->to_ps, i};
        if (i + 1 < gaps->count && gaps->items[i + 1].lane == gap->lane)
            continue;
        struct breakdown_walk walk = {.windows = windows, .count = count};
        visit_host(analysis, gap->lane, 0, &ranges, take_part, &walk);
        ranges.count = 0;
    }
    array_free(&ranges);
}

/* What is left of the steps. */
void breakdown_finish(struct step_breakdown *windows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct step_breakdown *step = &windows[i];
        step->parts_ps[PART_OTHER] = sub_saturated(step->end_ps, step->start_ps);
        for (unsigned part = 0; part < PART_OTHER; part++)
            step->parts_ps[PART_OTHER] -= step->parts_ps[part];
    }
}

/* --- the steps of a device --- */

static bool by_window(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct step_breakdown *m = a, *n = b;
    return m->start_ps != n->start_ps ? m->start_ps < n->start_ps : m->step < n->step;
}

/* Leaves out steps that begin while too many others are open. */
static void drop_crowded(breakdown_list *list)
{
    int64_t ends[BREAKDOWN_OPEN];
    size_t open = 0, kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct step_breakdown *step = &list->items[i];
        for (size_t k = 0; k < open;)
            if (ends[k] <= step->start_ps)
                ends[k] = ends[--open];
            else
                k++;
        if (open == BREAKDOWN_OPEN)
            continue;
        ends[open++] = step->end_ps;
        list->items[kept++] = *step;
    }
    list->count = kept;
}

/* Devices may be out of phase: each has its own times. One that has nothing of a step has those of
 * all. */
void breakdown_windows(const struct analysis *analysis, uint32_t process, uint32_t device,
                       breakdown_list *list)
{
    int64_t done = INT64_MIN; /* when the device was done with the steps before */
    for (uint32_t i = 0; i < analysis->steps.count; i++) {
        const struct step *step = &analysis->steps.items[i];
        if (catalog_ancestor(analysis->catalog, step->root.track, TRACK_PROCESS) != process)
            continue;
        const struct device_step *part = device_step_find(analysis, device, i);
        if (!part && step->frame_ps > 0 && device != TRACK_NONE)
            continue; /* recorded by others alone */
        bool has_frame = part && part->has_frame, has_own = part && part->events > 0;
        int64_t start = has_frame ? part->frame_start_ps : step->start_ps;
        int64_t end = has_frame ? part->frame_end_ps : add_saturated(step->start_ps, step->host_ps);
        bool has_work = has_own || (step->device_events > 0 && !has_frame);
        int64_t first = has_own ? part->start_ps : step->device_start_ps;
        int64_t last = has_own ? part->end_ps : step->device_end_ps;
        /* The host runs ahead of all devices, or of none. */
        bool is_outside = has_frame ? first < start || last > end
                                    : step->device_start_ps < start || step->device_end_ps > end;
        if (has_work && is_outside) {
            start = start > done ? start : done;
            start = start < first ? start : first;
            end = last;
        }
        if (has_work)
            done = last > done ? last : done;
        *array_push(list) = (struct step_breakdown){
            .device = NO_INDEX, .step = i, .start_ps = start, .end_ps = end};
    }
    sort_items(list->items, list->count, sizeof *list->items, by_window, NULL);
    drop_crowded(list);
}

/* --- processes without devices --- */

/* The time of the steps of a lane, without overlaps. */
static void add_step_gaps(const struct analysis *analysis, const breakdown_list *list,
                          breakdown_gaps *gaps)
{
    const struct step_breakdown *step;
    array_each (step, list) {
        uint32_t lane = analysis->steps.items[step->step].root.track;
        struct breakdown_gap *last = gaps->count ? &gaps->items[gaps->count - 1] : NULL;
        if (last && last->lane == lane && last->to_ps >= step->start_ps)
            last->to_ps = step->end_ps > last->to_ps ? step->end_ps : last->to_ps;
        else
            *array_push(gaps) = (struct breakdown_gap){lane, step->start_ps, step->end_ps};
    }
}

void breakdown_hosts(struct analysis *analysis, const bool *has_device)
{
    const struct catalog *catalog = analysis->catalog;
    bool *is_done = mem_zeroed(catalog->tracks.count, sizeof *is_done);
    for (size_t i = 0; i < analysis->steps.count; i++) {
        uint32_t process =
            catalog_ancestor(catalog, analysis->steps.items[i].root.track, TRACK_PROCESS);
        if (is_done[process] || has_device[process])
            continue;
        is_done[process] = true;
        breakdown_list list = {0};
        breakdown_gaps gaps = {0};
        breakdown_windows(analysis, process, TRACK_NONE, &list);
        add_step_gaps(analysis, &list, &gaps);
        breakdown_host(analysis, list.items, list.count, &gaps);
        breakdown_finish(list.items, list.count);
        for (size_t k = 0; k < list.count; k++)
            *array_push(&analysis->breakdowns) = list.items[k];
        array_free(&list);
        array_free(&gaps);
    }
    mem_free(is_done);
}
