/*
 * Analysis pass: device lanes, in parallel. Device work inherits its step from the call that
 * launched it or from the enclosing program execution; kernels on GPU streams become rows of
 * program executions and operations, as TPU traces contain them.
 */
#include "analyze/profile/analysis_passes.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

/* What is known of a device before its lanes are processed. */
struct device {
    uint32_t modules_lane[TRACK_CORES]; /* rows of program executions in the source, by core */
    uint32_t steps_lane;                /* row of steps, if steps were taken from such */
    bool has_operations;                /* the source has a row of operations */
    uint32_t streams_with_labels;
};

struct lane_rows {
    struct derived_row modules, operations;
};

/* The part of a step that ran on one lane. */
struct step_extent {
    int64_t start_ps, end_ps;
    uint64_t events;
};

struct worker_steps {
    struct step_extent *extents; /* by step; reset for each lane */
    ARRAY(uint32_t) touched;
};

struct device_pass {
    struct analysis *analysis;
    struct device *devices; /* by source track */
    struct lane_rows *rows; /* by lane */
    struct worker_steps *workers;
    pthread_mutex_t lock; /* guards what lanes share: the three below, steps, launches */
    bool has_sorted_externals;
    operation_list *operations;
    struct idmap operation_index;
};

/* Looks up programs by name and id, or by name alone for labels without an id. */
static void resolve_labels(struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    struct idmap by_name_and_id = {0}, by_name = {0};
    for (uint32_t i = 0; i < catalog->programs.count; i++) {
        const struct program *program = &catalog->programs.items[i];
        uint64_t identity[2] = {program->name, program->id};
        idmap_put(&by_name_and_id, hash_bytes(identity, sizeof identity), i);
        idmap_put(&by_name, program->name, i);
    }
    struct hlo_label *label;
    array_each (label, &analysis->labels) {
        if (!label->module)
            continue;
        uint64_t identity[2] = {label->module, (uint64_t)label->program_id};
        uint32_t index = label->has_program_id
                             ? idmap_get(&by_name_and_id, hash_bytes(identity, sizeof identity))
                             : idmap_get(&by_name, label->module);
        label->program = index; /* IDMAP_NONE is NO_INDEX */
        if (index != NO_INDEX && label->operation)
            label->found = idmap_get(&catalog->programs.items[index].by_name, label->operation);
    }
    idmap_free(&by_name_and_id);
    idmap_free(&by_name);
}

/* A row that frames steps is not part of their work. */
static bool is_steps_frame(const struct analysis *analysis, const struct track *track)
{
    return analysis->step_origin == STEPS_RECORDED && track->lane == LANE_STEPS && track->core == 0;
}

static void survey_devices(struct device_pass *pass)
{
    const struct catalog *catalog = pass->analysis->catalog;
    for (size_t i = 0; i < catalog->tracks.count; i++) {
        pass->devices[i].steps_lane = TRACK_NONE;
        for (unsigned core = 0; core < TRACK_CORES; core++)
            pass->devices[i].modules_lane[core] = TRACK_NONE;
    }
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (track->level != TRACK_LANE || track->source != SOURCE_DEVICE || track->events == 0)
            continue;
        struct device *device = &pass->devices[track->parent];
        if (track->lane == LANE_MODULES)
            device->modules_lane[track->core] = i;
        if (is_steps_frame(pass->analysis, track))
            device->steps_lane = i;
        device->has_operations |= track->lane == LANE_OPS;
    }
}

/* A TPU's program executions carry the step, or its row of steps; the operations inside them do
 * not. Work that was launched does not belong to the step it runs in, but to that of its launch. */
static void inherit_step(struct analysis *analysis, uint32_t modules, uint32_t track)
{
    bool is_frame = analysis->catalog->tracks.items[modules].lane == LANE_STEPS;
    const struct lane_events *outer = &analysis->trace.lanes[modules];
    const struct lane_analysis *outer_lane = &analysis->lanes[modules];
    const struct lane_events *inner = &analysis->trace.lanes[track];
    uint32_t *group = groups_of(analysis, track);
    uint64_t at = 0;
    for (uint64_t i = 0; i < inner->count; i++) {
        uint64_t event = event_at(&analysis->lanes[track], i);
        touch_event(i);
        while (at < outer->count &&
               event_end(outer, event_at(outer_lane, at)) <= inner->start_ps[event])
            at++;
        if (at == outer->count)
            break;
        uint64_t module = event_at(outer_lane, at);
        if (group[event] == 0 && !(is_frame && analysis->lanes[track].correlation[event]) &&
            outer->start_ps[module] <= inner->start_ps[event])
            group[event] = outer_lane->group[module];
    }
}

/* Lanes of several devices may share a launch; the earliest event counts. */
static void record_start(struct device_pass *pass, struct launch *launch, uint32_t device,
                         int64_t start_ps)
{
    if (start_ps > atomic_load_explicit(&launch->first_device_ps, memory_order_relaxed))
        return;
    pthread_mutex_lock(&pass->lock);
    int64_t first = atomic_load_explicit(&launch->first_device_ps, memory_order_relaxed);
    if (start_ps < first || (start_ps == first && device < launch->device)) {
        atomic_store_explicit(&launch->first_device_ps, start_ps, memory_order_relaxed);
        launch->device = device;
    }
    pthread_mutex_unlock(&pass->lock);
}

static void resolve_kernel(const struct analysis *analysis, const struct hlo_label *label,
                           uint32_t type, struct row_event *operation)
{
    const struct catalog *catalog = analysis->catalog;
    uint32_t index = kernel_operation(analysis, label, type);
    operation->program = label->program;
    operation->operation = index;
    if (index != NO_INDEX)
        operation->name = catalog->programs.items[label->program].operations.items[index].name;
    else
        operation->name = label->operation ? label->operation : catalog->types.items[type].name;
}

struct row_maker {
    const struct analysis *analysis;
    struct derived_row *modules, *operations;
    struct execution run; /* of the open module, as the next */
    uint32_t module_string;
    int64_t scope; /* of the open operation, as the next */
    operation_list totals;
    struct idmap totals_index;
    struct idmap resolved; /* label and type -> index in resolutions */
    ARRAY(struct row_event) resolutions;
};

static struct operation_totals *totals_of(operation_list *list, struct idmap *index,
                                          const struct row_event *event, uint32_t module)
{
    uint64_t identity[4] = {event->program, event->operation, event->name, module};
    uint64_t hash = hash_bytes(identity, sizeof identity);
    uint32_t at = idmap_get(index, hash);
    if (at == IDMAP_NONE) {
        at = (uint32_t)list->count;
        idmap_put(index, hash, at);
        *array_push(list) = (struct operation_totals){.name = event->name,
                                                      .module = module,
                                                      .program = event->program,
                                                      .operation = event->operation};
    }
    return &list->items[at];
}

static struct row_event *last_event(struct derived_row *row)
{
    if (row->events.count == 0)
        return NULL;
    assert(row->events.items);
    return &row->events.items[row->events.count - 1];
}

static void close_operation(struct row_maker *maker)
{
    const struct row_event *last = last_event(maker->operations);
    if (!last)
        return;
    struct operation_totals *totals =
        totals_of(&maker->totals, &maker->totals_index, last, maker->module_string);
    totals_add(&totals->totals, 1, last->kernel_ps, last->kernel_ps);
    totals->kernels += last->kernels;
}

static void extend(struct row_event *event, int64_t start_ps, int64_t end_ps)
{
    int64_t duration = sub_saturated(end_ps, event->start_ps);
    if (duration > event->duration_ps)
        event->duration_ps = duration;
    event->kernel_ps = add_saturated(event->kernel_ps, end_ps - start_ps);
    event->kernels++;
}

static const struct row_event *resolution(struct row_maker *maker, uint32_t label, uint32_t type)
{
    uint64_t key = (uint64_t)label << 32 | type;
    uint32_t index = idmap_get(&maker->resolved, key);
    if (index == IDMAP_NONE) {
        index = (uint32_t)maker->resolutions.count;
        idmap_put(&maker->resolved, key, index);
        struct row_event *event = array_push(&maker->resolutions);
        *event = (struct row_event){0};
        resolve_kernel(maker->analysis, &maker->analysis->labels.items[label], type, event);
    }
    return &maker->resolutions.items[index];
}

/* Kernels come in time order, so a kernel extends the last operation and module if it belongs
 * to the same run, and else opens new ones. */
static void add_kernel(struct row_maker *maker, const struct lane_events *events, uint64_t event,
                       uint32_t label_index, uint32_t group, const struct launch *launch)
{
    struct execution run = execution_of(launch);
    int64_t scope = launch ? launch->scope : 0;
    const struct hlo_label *label = &maker->analysis->labels.items[label_index];
    const struct row_event *kernel = resolution(maker, label_index, events->type[event]);
    int64_t start = events->start_ps[event], end = event_end(events, event);
    struct row_event *module = last_event(maker->modules);
    bool same_module = module && module->program == label->program &&
                       maker->module_string == label->module && module->group == group &&
                       is_same_execution(&maker->run, &run);
    struct row_event *open = same_module ? last_event(maker->operations) : NULL;
    if (open && open->operation == kernel->operation && open->name == kernel->name &&
        maker->scope == scope) {
        extend(open, start, end);
    } else {
        close_operation(maker);
        struct row_event *operation = array_push(&maker->operations->events);
        *operation = *kernel;
        operation->start_ps = start;
        operation->duration_ps = operation->kernel_ps = end - start;
        operation->group = group;
        operation->kernels = 1;
        maker->scope = scope;
    }
    if (same_module) {
        extend(module, start, end);
        return;
    }
    maker->run = run;
    maker->module_string = label->module;
    *array_push(&maker->modules->events) = (struct row_event){.start_ps = start,
                                                              .duration_ps = end - start,
                                                              .kernel_ps = end - start,
                                                              .name = label->module,
                                                              .program = label->program,
                                                              .operation = NO_INDEX,
                                                              .group = group,
                                                              .kernels = 1};
}

struct device_step *device_step_add(struct analysis *analysis, uint32_t device, uint32_t step)
{
    uint64_t key = (uint64_t)device << 32 | step;
    uint32_t index = idmap_get(&analysis->device_step_index, key);
    if (index == IDMAP_NONE) {
        index = (uint32_t)analysis->device_steps.count;
        idmap_put(&analysis->device_step_index, key, index);
        *array_push(&analysis->device_steps) = (struct device_step){.device = device, .step = step};
    }
    return &analysis->device_steps.items[index];
}

const struct device_step *device_step_find(const struct analysis *analysis, uint32_t device,
                                           uint32_t step)
{
    uint32_t index = idmap_get(&analysis->device_step_index, (uint64_t)device << 32 | step);
    return index == IDMAP_NONE ? NULL : &analysis->device_steps.items[index];
}

static void merge_steps(struct device_pass *pass, struct worker_steps *worker, uint32_t device)
{
    pthread_mutex_lock(&pass->lock);
    const uint32_t *touched;
    array_each (touched, &worker->touched) {
        struct device_step *step = device_step_add(pass->analysis, device, *touched);
        struct step_extent *extent = &worker->extents[*touched];
        if (step->events == 0 || extent->start_ps < step->start_ps)
            step->start_ps = extent->start_ps;
        if (step->events == 0 || extent->end_ps > step->end_ps)
            step->end_ps = extent->end_ps;
        step->events += extent->events;
        *extent = (struct step_extent){0};
    }
    pthread_mutex_unlock(&pass->lock);
    worker->touched.count = 0;
}

static void count_in_step(struct worker_steps *worker, uint32_t step, int64_t start_ps,
                          int64_t end_ps)
{
    struct step_extent *extent = &worker->extents[step];
    if (extent->events == 0)
        *array_push(&worker->touched) = step;
    if (extent->events == 0 || start_ps < extent->start_ps)
        extent->start_ps = start_ps;
    if (extent->events == 0 || end_ps > extent->end_ps)
        extent->end_ps = end_ps;
    extent->events++;
}

static void merge_operations(struct device_pass *pass, const operation_list *list)
{
    pthread_mutex_lock(&pass->lock);
    const struct operation_totals *operation;
    array_each (operation, list) {
        struct row_event identity = {.program = operation->program,
                                     .operation = operation->operation,
                                     .name = operation->name};
        struct operation_totals *into =
            totals_of(pass->operations, &pass->operation_index, &identity, operation->module);
        totals_merge(&into->totals, &operation->totals);
        into->kernels += operation->kernels;
    }
    pthread_mutex_unlock(&pass->lock);
}

/* Where the launch was not captured, the call by its number. First versions of Kineto wrote the
 * correlation id instead of it. */
static uint32_t call_by_number(struct device_pass *pass, uint32_t process, uint64_t external,
                               uint64_t correlation)
{
    if (external == 0 || external == correlation)
        return NO_INDEX;
    pthread_mutex_lock(&pass->lock);
    if (!pass->has_sorted_externals)
        sort_externals(pass->analysis);
    pass->has_sorted_externals = true;
    pthread_mutex_unlock(&pass->lock);
    return find_external(pass->analysis, process, external);
}

/* Credits a device event to the call it was launched in, and sets its operator. */
static void credit_call(struct device_pass *pass, uint32_t track, uint64_t event, uint32_t process,
                        const struct launch *launch)
{
    struct analysis *analysis = pass->analysis;
    const struct lane_analysis *lane = &analysis->lanes[track];
    uint32_t number = launch ? launch->call : NO_INDEX;
    if (number == NO_INDEX && lane->external)
        number = call_by_number(pass, process, lane->external[event], lane->correlation[event]);
    if (number == NO_INDEX)
        return;
    struct call *call = &analysis->calls.items[number];
    int64_t duration = analysis->trace.lanes[track].duration_ps[event];
    if (analysis->catalog->tracks.items[track].lane == LANE_STREAM) {
        int64_t sum = atomic_load_explicit(&call->device_ps, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&call->device_ps, &sum,
                                                      add_saturated(sum, duration),
                                                      memory_order_relaxed, memory_order_relaxed))
            ;
        atomic_fetch_add_explicit(&call->device_events, 1, memory_order_relaxed);
    }
    lane->operator[event] = call->operator== NO_INDEX ? 0 : call->operator+ 1;
    if (!launch && analysis->steps.count && groups_of(analysis, track)[event] == 0)
        groups_of(analysis, track)[event] = analysis->columns.group[call->index];
}

/* One pass over a lane does all that needs launches, as looking these up costs most; the last
 * correlation is remembered. Shared results are merged under the lock at the end. */
static void process_lane(struct device_pass *pass, uint32_t track, bool derive, unsigned worker)
{
    struct analysis *analysis = pass->analysis;
    const struct catalog *catalog = analysis->catalog;
    struct lane_analysis *lane = &analysis->lanes[track];
    const struct lane_events *events = &analysis->trace.lanes[track];
    uint32_t process = catalog_ancestor(catalog, track, TRACK_PROCESS);
    uint32_t device = catalog->tracks.items[track].parent;
    struct worker_steps *steps = &pass->workers[worker];
    struct row_maker maker = {.analysis = analysis,
                              .modules = &pass->rows[track].modules,
                              .operations = &pass->rows[track].operations};
    uint32_t *group = analysis->steps.count ? groups_of(analysis, track) : NULL;
    bool is_work = catalog->tracks.items[track].lane != LANE_ASIDE;
    struct stream_sums *sums = catalog->tracks.items[track].lane == LANE_STREAM
                                   ? stream_sums_begin(analysis, track)
                                   : NULL;
    struct launch *launch = NULL;
    uint64_t known_correlation = 0;
    for (uint64_t position = 0; position < events->count; position++) {
        uint64_t event = event_at(lane, position);
        touch_event(position);
        if (!event_is_timed(events, event))
            continue;
        uint64_t correlation = lane->correlation[event];
        if (correlation != known_correlation) {
            known_correlation = correlation;
            launch = correlation ? find_launch(analysis, process, correlation) : NULL;
        }
        if (launch) {
            if (is_work)
                record_start(pass, launch, device, events->start_ps[event]);
            const uint32_t *host_group = analysis->lanes[launch->event.track].group;
            if (group && group[event] == 0 && host_group)
                group[event] = host_group[launch->event.event];
        }
        if (is_work && lane->operator)
            credit_call(pass, track, event, process, launch);
        if (is_work && group && group[event])
            count_in_step(steps, group[event] - 1, events->start_ps[event],
                          event_end(events, event));
        uint32_t label = lane->label[event];
        if (sums)
            stream_sums_add(sums, &(struct stream_work){
                                      .event = event,
                                      .label = label,
                                      .call = lane->operator ? lane->operator[event] : 0,
                                      .scope = launch ? launch->scope : 0,
                                      .run = execution_of(launch)});
        if (derive && label && analysis->labels.items[label - 1].module)
            add_kernel(&maker, events, event, label - 1, group ? group[event] : 0, launch);
    }
    close_operation(&maker);
    merge_steps(pass, steps, device);
    merge_operations(pass, &maker.totals);
    if (sums) {
        pthread_mutex_lock(&pass->lock);
        stream_sums_end(sums);
        pthread_mutex_unlock(&pass->lock);
    }
    array_free(&maker.totals);
    array_free(&maker.resolutions);
    idmap_free(&maker.totals_index);
    idmap_free(&maker.resolved);
}

static bool is_device_lane(const struct track *track, bool modules)
{
    return track->level == TRACK_LANE && track->source == SOURCE_DEVICE && track->events > 0 &&
           track->lane != LANE_COUNTER && (track->lane == LANE_MODULES) == modules;
}

static bool process_module_lane(void *context, size_t index, unsigned worker)
{
    struct device_pass *pass = context;
    const struct track *track = &pass->analysis->catalog->tracks.items[index];
    if (!is_device_lane(track, true))
        return true;
    if (pass->devices[track->parent].steps_lane != TRACK_NONE)
        inherit_step(pass->analysis, pass->devices[track->parent].steps_lane, (uint32_t)index);
    process_lane(pass, (uint32_t)index, false, worker);
    return true;
}

static bool process_other_lane(void *context, size_t index, unsigned worker)
{
    struct device_pass *pass = context;
    struct analysis *analysis = pass->analysis;
    const struct track *track = &analysis->catalog->tracks.items[index];
    if (!is_device_lane(track, false) || is_steps_frame(analysis, track))
        return true;
    const struct device *device = &pass->devices[track->parent];
    uint32_t modules = device->modules_lane[track->core];
    if (modules != TRACK_NONE && analysis->lanes[modules].group)
        inherit_step(analysis, modules, (uint32_t)index);
    if (device->steps_lane != TRACK_NONE)
        inherit_step(analysis, device->steps_lane, (uint32_t)index);
    process_lane(pass, (uint32_t)index, track->lane == LANE_STREAM && !device->has_operations,
                 worker);
    return true;
}

static void gather_rows(struct device_pass *pass)
{
    struct analysis *analysis = pass->analysis;
    const struct catalog *catalog = analysis->catalog;
    for (uint32_t i = 0; i < catalog->tracks.count; i++)
        if (pass->rows[i].modules.events.count > 0)
            pass->devices[catalog->tracks.items[i].parent].streams_with_labels++;
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        struct lane_rows *rows = &pass->rows[i];
        if (rows->modules.events.count == 0)
            continue;
        uint32_t device = catalog->tracks.items[i].parent;
        rows->modules.is_module = true;
        rows->modules.lane = rows->operations.lane = i;
        rows->modules.is_only = rows->operations.is_only =
            pass->devices[device].streams_with_labels == 1;
        *array_push(&analysis->rows) = rows->modules;
        *array_push(&analysis->rows) = rows->operations;
    }
}

/* Sums up what devices have of steps. */
static void finish_steps(struct analysis *analysis)
{
    const struct device_step *part;
    array_each (part, &analysis->device_steps) {
        struct step *step = &analysis->steps.items[part->step];
        if (part->events == 0)
            continue;
        if (step->device_events == 0 || part->start_ps < step->device_start_ps)
            step->device_start_ps = part->start_ps;
        if (step->device_events == 0 || part->end_ps > step->device_end_ps)
            step->device_end_ps = part->end_ps;
        int64_t length = sub_saturated(part->end_ps, part->start_ps);
        step->device_ps = length > step->device_ps ? length : step->device_ps;
        step->device_events += part->events;
    }
}

/* Labels are resolved and ordered first, on one thread. Lanes then run in parallel, and
 * gather_rows restores their order, so the result does not depend on threads. */
void process_devices(struct analysis *analysis, struct pool *pool, operation_list *operations)
{
    size_t tracks = analysis->catalog->tracks.count;
    struct device_pass pass = {.analysis = analysis, .operations = operations};
    pass.devices = mem_zeroed(tracks, sizeof *pass.devices);
    pass.rows = mem_zeroed(tracks, sizeof *pass.rows);
    unsigned workers = pool_workers(pool);
    pass.workers = mem_zeroed(workers, sizeof *pass.workers);
    for (unsigned i = 0; i < workers; i++)
        pass.workers[i].extents =
            mem_zeroed(analysis->steps.count, sizeof *pass.workers[i].extents);
    pthread_mutex_init(&pass.lock, NULL);
    resolve_labels(analysis);
    order_kernels(analysis);
    fill_labels(analysis);
    survey_devices(&pass);
    pool_run(pool, tracks, process_module_lane,
             &pass); /* first, as the others inherit from these */
    pool_run(pool, tracks, process_other_lane, &pass);
    gather_rows(&pass);
    finish_steps(analysis);
    for (unsigned i = 0; i < workers; i++) {
        mem_free(pass.workers[i].extents);
        array_free(&pass.workers[i].touched);
    }
    mem_free(pass.workers);
    mem_free(pass.devices);
    mem_free(pass.rows);
    idmap_free(&pass.operation_index);
    pthread_mutex_destroy(&pass.lock);
}

size_t derived_row_name(const struct analysis *analysis, const struct derived_row *row,
                        char name[static 64])
{
    const char *kind = row->is_module ? "XLA Modules" : "XLA Ops";
    int64_t stream = analysis->catalog->tracks.items[row->lane].id;
    int size = row->is_only ? snprintf(name, 64, "%s", kind)
                            : snprintf(name, 64, "%s - from #%lld", kind, (long long)stream);
    return (size_t)size;
}
