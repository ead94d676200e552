/*
 * What a device did in each step, in the terms of HolisticTraceAnalysis, so that figures compare:
 * unions of the time in which it computes, communicates and copies; what is neither is idle, by the
 * cause of each gap. And its kernels by step: those that take most time, and the rest as a sum.
 */
#include "analyze/profile/rank_steps.h"

/* Shorter gaps between kernels that were launched already are the device's own. It is the default
 * of HolisticTraceAnalysis, consecutive_kernel_delay = 30: its documentation says nanoseconds, but
 * it compares the number with the times of Kineto's traces, which are in microseconds. */
static const int64_t KERNEL_WAIT_PS = 30000000;

enum { LISTED_KERNELS = 32, HASHED_KERNELS = 8 };

/* Steps whose kernels are summed up at the same time: work of more steps than this does not
 * overlap. */
enum { OPEN_STEPS = 8 };

/* The kernels of a step so far. */
struct step_kernels {
    uint32_t step; /* index plus one; 0: free */
    uint64_t used; /* when it last got one */
    struct idmap by_name;
    rank_kernel_list kernels;
};

/* Sums of a step, by its index. */
struct step_counts {
    uint32_t kernels, collectives;
    int64_t hash;
};

struct rank_sweep {
    const struct analysis *analysis;
    struct breakdown_walk walk;
    int64_t now_ps;
    int64_t end_ps[RANK_CLASSES]; /* until when work of a class goes on */
    int64_t busy_to_ps;           /* work of any class */
    uint8_t *classes;             /* by event type: its class plus one; 0: not looked at yet */
    struct step_counts *counts;   /* by step */
    struct step_kernels open[OPEN_STEPS];
    struct step_kernels *current;
    uint64_t clock;
    rank_kernel_list done;
    event_ref_list collectives;
};

struct rank_sweep *rank_sweep_begin(const struct analysis *analysis, struct step_breakdown *windows,
                                    size_t count)
{
    struct rank_sweep *sweep = mem_zeroed(1, sizeof *sweep);
    sweep->analysis = analysis;
    sweep->walk = (struct breakdown_walk){.windows = windows, .count = count};
    sweep->now_ps = sweep->busy_to_ps = INT64_MIN;
    for (unsigned i = 0; i < RANK_CLASSES; i++)
        sweep->end_ps[i] = INT64_MIN;
    sweep->classes = mem_zeroed(analysis->catalog->types.count, sizeof *sweep->classes);
    sweep->counts = mem_zeroed(analysis->steps.count, sizeof *sweep->counts);
    sweep->current = &sweep->open[0];
    return sweep;
}

/* --- the time of steps --- */

/* Gives the time until `to` to what goes on in it. */
static void sweep_to(struct rank_sweep *sweep, int64_t to)
{
    while (sweep->now_ps < to) {
        int64_t from = sweep->now_ps, until = to;
        bool is_on[RANK_CLASSES];
        for (unsigned i = 0; i < RANK_CLASSES; i++) {
            is_on[i] = sweep->end_ps[i] > from;
            if (is_on[i] && sweep->end_ps[i] < until)
                until = sweep->end_ps[i];
        }
        sweep->now_ps = until;
        if (is_on[RANK_COMPUTE])
            breakdown_add(&sweep->walk, from, until,
                          offsetof(struct step_breakdown, rank.compute_ps));
        if (is_on[RANK_COMPUTE] && is_on[RANK_COMMUNICATION])
            breakdown_add(&sweep->walk, from, until,
                          offsetof(struct step_breakdown, rank.overlap_ps));
        else if (is_on[RANK_COMMUNICATION])
            breakdown_add(&sweep->walk, from, until,
                          offsetof(struct step_breakdown, rank.exposed_ps));
        else if (is_on[RANK_COPY] && !is_on[RANK_COMPUTE])
            breakdown_add(&sweep->walk, from, until, offsetof(struct step_breakdown, rank.copy_ps));
    }
}

/* The device was idle until this work began. The host is the cause if it had not launched it when
 * the work before ended, else the device itself if the gap is short. */
static void add_gap(struct rank_sweep *sweep, int64_t start_ps, struct event_ref work)
{
    const struct analysis *analysis = sweep->analysis;
    int64_t from = sweep->busy_to_ps;
    const struct launch *launch = launch_of_work(analysis, work);
    if (launch && analysis->trace.lanes[launch->event.track].start_ps[launch->event.event] > from)
        breakdown_add(&sweep->walk, from, start_ps,
                      offsetof(struct step_breakdown, rank.idle_host_ps));
    else if (from != INT64_MIN && sub_saturated(start_ps, from) < KERNEL_WAIT_PS)
        breakdown_add(&sweep->walk, from, start_ps,
                      offsetof(struct step_breakdown, rank.idle_kernel_ps));
}

/* --- the kernels of steps --- */

static bool by_total(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct rank_kernel *m = a, *n = b;
    return m->total_ps != n->total_ps ? m->total_ps > n->total_ps : m->name < n->name;
}

static bool by_text(const void *a, const void *b, const void *context)
{
    (void)context;
    struct text m = *(const struct text *)a, n = *(const struct text *)b;
    size_t size = m.size < n.size ? m.size : n.size;
    int order = memcmp(m.data, n.data, size);
    return order != 0 ? order < 0 : m.size < n.size;
}

/* Of the names of the kernels that compute longest, by name; they are sorted by time. */
static int64_t hash_of(const struct catalog *catalog, const rank_kernel_list *kernels)
{
    struct text names[HASHED_KERNELS];
    size_t count = 0;
    for (size_t i = 0; i < kernels->count && count < HASHED_KERNELS; i++)
        if (kernels->items[i].class == RANK_COMPUTE)
            names[count++] = catalog_text(catalog, kernels->items[i].name);
    sort_items(names, count, sizeof *names, by_text, NULL);
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++)
        hash = hash_content(names[i].data, names[i].size, hash);
    return (int64_t)hash;
}

/* Keeps the longest kernels by name and sums up the others by class, so the table's size does
 * not depend on the number of kernels. */
static void close_step(struct rank_sweep *sweep, struct step_kernels *step)
{
    rank_kernel_list *kernels = &step->kernels;
    if (step->step == 0)
        return;
    sort_items(kernels->items, kernels->count, sizeof *kernels->items, by_total, NULL);
    sweep->counts[step->step - 1].hash = hash_of(sweep->analysis->catalog, kernels);
    struct rank_kernel rest[RANK_CLASSES] = {0};
    for (size_t i = 0; i < kernels->count; i++) {
        const struct rank_kernel *kernel = &kernels->items[i];
        if (i < LISTED_KERNELS) {
            *array_push(&sweep->done) = *kernel;
            continue;
        }
        rest[kernel->class].count += kernel->count;
        rest[kernel->class].total_ps =
            add_saturated(rest[kernel->class].total_ps, kernel->total_ps);
    }
    for (unsigned i = 0; i < RANK_CLASSES; i++) {
        if (rest[i].count == 0)
            continue;
        rest[i].step = step->step - 1;
        rest[i].class = (enum rank_class)i;
        *array_push(&sweep->done) = rest[i];
    }
    idmap_free(&step->by_name);
    step->by_name = (struct idmap){0};
    step->step = 0;
    kernels->count = 0;
}

/* The sums of a step; those of the step that had no work for longest are closed for it. */
static struct step_kernels *open_step(struct rank_sweep *sweep, uint32_t step)
{
    struct step_kernels *oldest = &sweep->open[0];
    for (size_t i = 0; i < OPEN_STEPS; i++) {
        if (sweep->open[i].step == step)
            return &sweep->open[i];
        if (sweep->open[i].used < oldest->used)
            oldest = &sweep->open[i];
    }
    close_step(sweep, oldest);
    oldest->step = step;
    return oldest;
}

static void add_kernel(struct rank_sweep *sweep, uint32_t step, uint32_t type,
                       enum rank_class class, int64_t duration_ps)
{
    if (sweep->current->step != step) {
        sweep->current->used = ++sweep->clock;
        sweep->current = open_step(sweep, step);
    }
    struct step_kernels *at = sweep->current;
    uint32_t name = sweep->analysis->catalog->types.items[type].name;
    uint64_t key = (uint64_t)name * RANK_CLASSES + class;
    uint32_t index = idmap_get(&at->by_name, key);
    if (index == IDMAP_NONE) {
        index = (uint32_t)at->kernels.count;
        *array_push(&at->kernels) =
            (struct rank_kernel){.step = step - 1, .name = name, .class = class};
        idmap_put(&at->by_name, key, index);
    }
    at->kernels.items[index].count++;
    at->kernels.items[index].total_ps =
        add_saturated(at->kernels.items[index].total_ps, duration_ps);
    sweep->counts[step - 1].kernels += class != RANK_COPY;
    sweep->counts[step - 1].collectives += class == RANK_COMMUNICATION;
}

/* --- work --- */

/* Its class plus one; RANK_CLASSES plus one for what is not work itself. */
static uint8_t class_of_type(struct rank_sweep *sweep, uint32_t type)
{
    if (!sweep->classes[type])
        sweep->classes[type] = (uint8_t)(rank_class_of(sweep->analysis, type) + 1);
    return sweep->classes[type];
}

void rank_sweep_work(struct rank_sweep *sweep, struct event_ref work)
{
    const struct lane_events *events = &sweep->analysis->trace.lanes[work.track];
    const uint32_t *groups = sweep->analysis->lanes[work.track].group;
    uint32_t type = events->type[work.event];
    unsigned class = class_of_type(sweep, type) - 1u;
    if (class == RANK_CLASSES)
        return;
    int64_t start = events->start_ps[work.event], end = event_end(events, work.event);
    if (class == RANK_COMMUNICATION)
        *array_push(&sweep->collectives) = work;
    if (groups && groups[work.event])
        add_kernel(sweep, groups[work.event], type, (enum rank_class) class, end - start);
    if (sweep->walk.count == 0)
        return;
    sweep_to(sweep, start);
    if (start > sweep->busy_to_ps)
        add_gap(sweep, start, work);
    if (end > sweep->busy_to_ps)
        sweep->busy_to_ps = end;
    if (end > sweep->end_ps[class])
        sweep->end_ps[class] = end;
}

void rank_sweep_end(struct rank_sweep *sweep, rank_kernel_list *kernels,
                    event_ref_list *collectives)
{
    int64_t last = sweep->busy_to_ps;
    sweep_to(sweep, last);
    for (size_t i = 0; i < OPEN_STEPS; i++) {
        close_step(sweep, &sweep->open[i]);
        array_free(&sweep->open[i].kernels);
    }
    for (size_t i = 0; i < sweep->walk.count; i++) {
        struct step_breakdown *step = &sweep->walk.windows[i];
        const struct step_counts *counts = &sweep->counts[step->step];
        step->rank.kernels = counts->kernels;
        step->rank.collectives = counts->collectives;
        step->rank.hash = counts->hash;
    }
    *kernels = sweep->done;
    *collectives = sweep->collectives;
    mem_free(sweep->classes);
    mem_free(sweep->counts);
    mem_free(sweep);
}
