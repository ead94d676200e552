/*
 * Analysis pass: summary figures, from the results of the other passes.
 */
#include "analyze/profile/analysis_passes.h"
#include "base/percentile.h"

#include <limits.h>
#include <math.h>
#include <stdatomic.h>

static const double PS_PER_NS = 1e3;

typedef ARRAY(double) number_list;
typedef ARRAY(uint32_t) track_list;

static struct distribution distribution_of(number_list *values)
{
    struct distribution result = {.count = values->count};
    if (values->count == 0)
        return result;
    double sum = 0;
    result.min = INFINITY;
    result.max = -INFINITY;
    for (size_t i = 0; i < values->count; i++) {
        sum += values->items[i];
        result.min = fmin(result.min, values->items[i]);
        result.max = fmax(result.max, values->items[i]);
    }
    result.mean = sum / (double)values->count;
    result.p50 = percentile_median(values->items, values->count);
    result.p99 = percentile_of(values->items, values->count, 0.99);
    return result;
}

/* The place of the devices that step times are of: those of one kind, as in XProf's tools, the
 * accelerators where there are any (of_one_kind.sql says the same). */
static int place_of(enum device_kind kind)
{
    static const int places[] = {
        [KIND_TPU] = 0, [KIND_GPU] = 1, [KIND_NEURON] = 2, [KIND_OTHER] = 3, [KIND_CPU] = 4};
    return places[kind];
}

/* The step time of each step: the mean over the devices that have it. */
static void summarize_step_times(struct analysis *analysis)
{
    double *sums = mem_zeroed(analysis->steps.count + 1, sizeof *sums);
    uint32_t *counts = mem_zeroed(analysis->steps.count + 1, sizeof *counts);
    const struct step_breakdown *breakdown;
    const struct device_figures *device;
    int place = INT_MAX;
    array_each (device, &analysis->devices)
        place = place_of(device->kind) < place ? place_of(device->kind) : place;
    array_each (breakdown, &analysis->breakdowns) {
        if (breakdown->device != NO_INDEX &&
            place_of(analysis->devices.items[breakdown->device].kind) != place)
            continue;
        sums[breakdown->step] += (double)sub_saturated(breakdown->end_ps, breakdown->start_ps);
        counts[breakdown->step]++;
    }
    number_list times = {0};
    for (size_t i = 0; i < analysis->steps.count; i++)
        if (counts[i] > 0)
            *array_push(&times) = sums[i] / counts[i] / PS_PER_NS;
    analysis->summary.step_ns = distribution_of(&times);
    array_free(&times);
    mem_free(sums);
    mem_free(counts);
}

/* Only annotated steps have a host time of their own; periods are between steps of one track. */
static void summarize_steps(struct analysis *analysis)
{
    number_list host = {0}, device = {0}, period = {0};
    struct idmap last = {0}; /* by track: its previous step */
    for (uint32_t i = 0; i < analysis->steps.count; i++) {
        const struct step *step = &analysis->steps.items[i];
        uint32_t before = idmap_get(&last, step->root.track);
        idmap_put(&last, step->root.track, i);
        if (analysis->step_origin == STEPS_ANNOTATED)
            *array_push(&host) = (double)step->host_ps / PS_PER_NS;
        if (step->device_events > 0)
            *array_push(&device) = (double)step->device_ps / PS_PER_NS;
        if (before != IDMAP_NONE)
            *array_push(&period) =
                ((double)step->start_ps - (double)analysis->steps.items[before].start_ps) /
                PS_PER_NS;
    }
    idmap_free(&last);
    summarize_step_times(analysis);
    analysis->summary.step_host_ns = distribution_of(&host);
    analysis->summary.step_device_ns = distribution_of(&device);
    analysis->summary.step_period_ns = distribution_of(&period);
    array_free(&host);
    array_free(&device);
    array_free(&period);
}

static bool by_self_time(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct ranked *m = a, *n = b;
    if (m->totals.self_ps != n->totals.self_ps)
        return m->totals.self_ps > n->totals.self_ps;
    if (m->totals.count != n->totals.count)
        return m->totals.count > n->totals.count;
    int order = text_compare(m->name, n->name);
    if (order == 0)
        order = text_compare(m->module, n->module);
    if (order == 0)
        order = text_compare(m->op_name, n->op_name);
    return order < 0;
}

static void set_share(struct ranked *item, double sum)
{
    double count = (double)item->totals.count;
    item->share = sum > 0 ? (double)item->totals.self_ps / sum : 0;
    item->mean_ps = count > 0 ? (double)item->totals.total_ps / count : 0;
}

static void rank(struct ranked *items, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)items[i].totals.self_ps;
    for (size_t i = 0; i < count; i++)
        set_share(&items[i], sum);
    sort_items(items, count, sizeof *items, by_self_time, NULL);
}

static bool is_copy_type(const struct analysis *analysis, uint32_t type)
{
    return rank_class_of(analysis, type) == RANK_COPY;
}

/* Types that are shown by the same name are merged, also of several devices or threads. is_listed
 * may be NULL: all are. */
static void rank_types(const struct analysis *analysis, const struct totals *totals,
                       bool (*is_listed)(const struct analysis *, uint32_t), ranked_list *list)
{
    const struct catalog *catalog = analysis->catalog;
    struct idmap by_name = {0};
    for (uint32_t type = 0; type < catalog->types.count; type++) {
        if (totals[type].count == 0 || (is_listed && !is_listed(analysis, type)))
            continue;
        const struct event_type *event_type = &catalog->types.items[type];
        uint32_t name = event_type->display_name ? event_type->display_name : event_type->name;
        uint32_t at = idmap_get(&by_name, name);
        if (at == IDMAP_NONE) {
            at = (uint32_t)list->count;
            idmap_put(&by_name, name, at);
            *array_push(list) = (struct ranked){.name = catalog_type_label(catalog, type),
                                                .device_class = analysis->device_class[type],
                                                .kind = analysis->kernel_kinds[type]};
        }
        totals_merge(&list->items[at].totals, &totals[type]);
    }
    idmap_free(&by_name);
    rank(list->items, list->count);
}

static bool has_gpu(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->tracks.count; i++)
        if (catalog->tracks.items[i].level == TRACK_SOURCE &&
            text_starts(catalog_text(catalog, catalog->tracks.items[i].name), TEXT("/device:GPU")))
            return true;
    return false;
}

static bool by_family_time(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct family_summary *m = a, *n = b;
    return m->total_ps != n->total_ps ? m->total_ps > n->total_ps : m->family < n->family;
}

/* A family is a property of a type, so that sums over types are those over the kernels. Other
 * devices than GPUs have no kernels. */
static void summarize_families(struct analysis *analysis, const struct totals *totals)
{
    struct family_summary sums[KERNEL_FAMILIES] = {0};
    double whole = 0;
    if (!has_gpu(analysis->catalog))
        return;
    for (uint32_t type = 0; type < analysis->catalog->types.count; type++) {
        if (totals[type].count == 0 || !is_kernel_type(analysis, type))
            continue;
        struct family_summary *sum = &sums[analysis->kernel_kinds[type].family];
        sum->count += totals[type].count;
        sum->total_ps = add_saturated(sum->total_ps, totals[type].total_ps);
        whole += (double)totals[type].total_ps;
    }
    for (unsigned i = 0; i < KERNEL_FAMILIES; i++) {
        sums[i].family = (enum kernel_family)i;
        sums[i].share = whole > 0 ? (double)sums[i].total_ps / whole : 0;
        if (sums[i].count > 0)
            *array_push(&analysis->summary.families) = sums[i];
    }
    sort_items(analysis->summary.families.items, analysis->summary.families.count,
               sizeof(struct family_summary), by_family_time, NULL);
}

static struct text type_text(const struct catalog *catalog, uint32_t type, struct text key)
{
    const struct arg *arg = catalog_arg(catalog, &catalog->types.items[type].args, key);
    return arg ? arg_text(catalog, arg) : TEXT("");
}

static struct text program_name(const struct catalog *catalog, const struct idmap *programs,
                                uint32_t type)
{
    const struct arg *id =
        catalog_arg(catalog, &catalog->types.items[type].args, TEXT("program_id"));
    uint32_t program = id ? idmap_get(programs, (uint64_t)arg_integer(id)) : IDMAP_NONE;
    if (program == IDMAP_NONE)
        return TEXT("");
    return catalog_text(catalog, catalog->programs.items[program].name);
}

/* "file.py:33" */
static void split_source(struct text source, struct text *file, uint32_t *line)
{
    size_t colon = source.size;
    while (colon > 0 && source.data[colon - 1] != ':')
        colon--;
    *file = source;
    if (colon == 0)
        return;
    file->size = colon - 1;
    for (size_t i = colon; i < source.size && source.data[i] >= '0' && source.data[i] <= '9'; i++)
        *line = *line * 10 + (uint32_t)(source.data[i] - '0');
}

/* Operations with rows in the source: their details are args of the event type. */
static void add_recorded_operations(const struct analysis *analysis, const struct totals *totals,
                                    ranked_list *list)
{
    const struct catalog *catalog = analysis->catalog;
    struct idmap known = {0}; /* merges an operation that ran on several devices */
    struct idmap programs = {0};
    for (uint32_t i = 0; i < catalog->programs.count; i++)
        idmap_put(&programs, catalog->programs.items[i].id, i);
    for (uint32_t type = 0; type < catalog->types.count; type++) {
        if (totals[type].count == 0)
            continue;
        struct ranked entry = {.name = catalog_type_label(catalog, type),
                               .device_class = analysis->device_class[type],
                               .totals = totals[type],
                               .program = NO_INDEX,
                               .module = program_name(catalog, &programs, type),
                               .category = type_text(catalog, type, TEXT("hlo_category")),
                               .op_name = type_text(catalog, type, TEXT("tf_op"))};
        split_source(type_text(catalog, type, TEXT("source")), &entry.file, &entry.line);
        uint64_t identity[2] = {hash_bytes(entry.name.data, entry.name.size),
                                hash_bytes(entry.module.data, entry.module.size)};
        uint64_t hash = hash_bytes(identity, sizeof identity);
        uint32_t at = idmap_get(&known, hash);
        if (at == IDMAP_NONE) {
            idmap_put(&known, hash, (uint32_t)list->count);
            *array_push(list) = entry;
        } else {
            totals_merge(&list->items[at].totals, &entry.totals);
        }
    }
    idmap_free(&known);
    idmap_free(&programs);
}

static void add_derived_operations(const struct catalog *catalog, const operation_list *operations,
                                   ranked_list *list)
{
    const struct operation_totals *operation;
    array_each (operation, operations) {
        struct ranked *entry = array_push(list);
        *entry = (struct ranked){.name = catalog_text(catalog, operation->name),
                                 .totals = operation->totals,
                                 .module = catalog_text(catalog, operation->module),
                                 .program = operation->program,
                                 .kernels = operation->kernels};
        if (operation->program == NO_INDEX || operation->operation == NO_INDEX)
            continue; /* its HLO is not in the capture */
        const struct program *program = &catalog->programs.items[operation->program];
        const struct operation *hlo = &program->operations.items[operation->operation];
        entry->category = catalog_text(catalog, hlo->opcode);
        entry->op_name = catalog_text(catalog, hlo->op_name);
        entry->file = catalog_text(catalog, hlo->file);
        entry->line = hlo->line;
    }
}

static double share_of_span(const struct summary *summary, int64_t busy_ps)
{
    return summary->span_ps > 0 ? (double)busy_ps / summary->span_ps : 0;
}

/* Launch delays by device track; the caller frees the lists. */
static number_list *launch_delays(const struct analysis *analysis)
{
    number_list *delays = mem_zeroed(analysis->catalog->tracks.count, sizeof *delays);
    for (size_t i = 0; i < analysis->launches.count; i++) {
        const struct launch *launch = &analysis->launches.items[i];
        touch_event(i);
        if (launch->device == TRACK_NONE)
            continue;
        int64_t called = analysis->trace.lanes[launch->event.track].start_ps[launch->event.event];
        int64_t began = atomic_load_explicit(&launch->first_device_ps, memory_order_relaxed);
        *array_push(&delays[launch->device]) = ((double)began - (double)called) / PS_PER_NS;
    }
    return delays;
}

static void summarize_device(struct analysis *analysis, const struct device_activity *activity,
                             number_list *delays)
{
    *array_push(&analysis->summary.devices) =
        (struct device_summary){.track = activity->device,
                                .events = activity->events,
                                .busy_ps = activity->busy_ps,
                                .sum_ps = activity->sum_ps,
                                .busy_share = share_of_span(&analysis->summary, activity->busy_ps),
                                .launch_delay_ns = distribution_of(delays)};
}

static void summarize_counter(struct analysis *analysis, uint32_t track)
{
    const struct lane_events *events = &analysis->trace.lanes[track];
    struct counter_summary entry = {
        .track = track, .samples = events->count, .min = INFINITY, .max = -INFINITY};
    double sum = 0;
    for (uint64_t i = 0; i < events->count; i++) {
        double value = events->value[event_at(&analysis->lanes[track], i)];
        touch_event(i);
        sum += value;
        entry.min = fmin(entry.min, value);
        entry.max = fmax(entry.max, value);
        entry.last = value;
    }
    entry.mean = sum / (double)events->count;
    entry.unit = counter_meaning(analysis->catalog, track, entry.label);
    *array_push(&analysis->summary.counters) = entry;
}

static void extend(struct extent *extent, const struct extent *other)
{
    if (!other->has_times)
        return;
    if (!extent->has_times || other->first_ps < extent->first_ps)
        extent->first_ps = other->first_ps;
    if (!extent->has_times || other->last_ps > extent->last_ps)
        extent->last_ps = other->last_ps;
    extent->has_times = true;
}

/* The extent of work is kept apart from that of all events, which may reach far beyond it;
 * without work, all events count. */
void measure_extents(struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    struct summary *summary = &analysis->summary;
    struct extent whole = {0}, work = {0};
    summary->sources = mem_zeroed(catalog->tracks.count, sizeof *summary->sources);
    for (size_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (track->level != TRACK_LANE)
            continue;
        struct source_summary *source = &summary->sources[track->parent];
        source->lanes++;
        source->events += track->events;
        summary->events += track->events;
        if (track->events == 0)
            continue;
        const struct lane_analysis *lane = &analysis->lanes[i];
        struct extent all = {lane->first_ps <= lane->last_ps, lane->first_ps, lane->last_ps};
        extend(&source->extent, &all);
        extend(&whole, &all);
        extend(&work, &lane->work);
        summary->profiler_ps = add_saturated(summary->profiler_ps, lane->profiler_ps);
    }
    summary->first_ps = whole.first_ps;
    summary->last_ps = whole.last_ps;
    summary->work_first_ps = work.has_times ? work.first_ps : whole.first_ps;
    summary->work_last_ps = work.has_times ? work.last_ps : whole.last_ps;
    summary->span_ps = (double)work.last_ps - (double)work.first_ps;
}

static void summarize_lanes(struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (track->level != TRACK_LANE || track->events == 0)
            continue;
        if (track->lane == LANE_COUNTER) {
            summarize_counter(analysis, i);
        } else if (track->source == SOURCE_HOST) {
            int64_t busy = analysis->lanes[i].busy_ps;
            *array_push(&analysis->summary.threads) =
                (struct thread_summary){.track = i,
                                        .events = track->events,
                                        .busy_ps = busy,
                                        .busy_share = share_of_span(&analysis->summary, busy)};
        }
    }
}

/* As the timeline has them: cores of a recording are found in the order of their first events. */
static bool by_place(const void *a, const void *b, const void *context)
{
    const struct track *tracks = ((const struct catalog *)context)->tracks.items;
    const struct track *x = &tracks[((const struct device_summary *)a)->track],
                       *y = &tracks[((const struct device_summary *)b)->track];
    return x->parent != y->parent ? x->parent < y->parent : x->sort_key < y->sort_key;
}

static void summarize_devices(struct analysis *analysis, const activity_list *activities)
{
    number_list *delays = launch_delays(analysis);
    const struct device_activity *activity;
    array_each (activity, activities)
        summarize_device(analysis, activity, &delays[activity->device]);
    sort_items(analysis->summary.devices.items, analysis->summary.devices.count,
               sizeof *analysis->summary.devices.items, by_place, analysis->catalog);
    for (size_t i = 0; i < analysis->catalog->tracks.count; i++)
        array_free(&delays[i]);
    mem_free(delays);
}

static bool by_busy_time(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct thread_summary *)a)->busy_ps >
           ((const struct thread_summary *)b)->busy_ps;
}

static bool count_flow(void *context, const struct flow *flow)
{
    struct summary *summary = context;
    if (flow->kind == FLOW_LAUNCH)
        summary->launch_flows++;
    else
        summary->context_flows++;
    return true;
}

void summarize(struct analysis *analysis, const struct type_totals *types,
               const operation_list *operations, const activity_list *activities)
{
    struct summary *summary = &analysis->summary;
    const struct catalog *catalog = analysis->catalog;
    summarize_steps(analysis);
    summarize_lanes(analysis);
    summarize_devices(analysis, activities);
    sort_items(summary->threads.items, summary->threads.count, sizeof *summary->threads.items,
               by_busy_time, NULL);
    rank_types(analysis, types->kernels, is_kernel_type, &summary->kernels);
    rank_types(analysis, types->kernels, is_copy_type, &summary->copies);
    summarize_families(analysis, types->kernels);
    rank_types(analysis, types->host, NULL, &summary->host_events);
    add_recorded_operations(analysis, types->operations, &summary->operations);
    add_derived_operations(catalog, operations, &summary->operations);
    rank(summary->operations.items, summary->operations.count);
    summarize_operators(analysis, types);
    analysis_flows(analysis, count_flow, summary);
}
