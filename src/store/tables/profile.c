/*
 * Writes a processed profile: first the event tables, which read the source, then, concurrently,
 * everything derived from the analysis.
 */
#include "store/tables/profile.h"

#include "store/tables/make.h"
#include "store/tables/workspace.h"
#include "store/timeline/timeline.h"

#include <stdio.h>

enum { MAX_PATH = 4096 };

/* The catalog must not change while workers read it, so this comes first. */
static void add_words(struct profile_maker *maker)
{
    struct catalog *catalog = &maker->source->catalog;
    maker->words = (struct words){
        .events_table = catalog_string(catalog, text_of(table_schemas[TABLE_EVENTS].name)),
        .launch = catalog_string(catalog, TEXT("launch")),
        .context = catalog_string(catalog, TEXT("context")),
        .module = catalog_string(catalog, TEXT("module")),
        .operation = catalog_string(catalog, TEXT("operation")),
        .memcpy = catalog_string(catalog, TEXT("memcpy")),
        .memset = catalog_string(catalog, TEXT("memset")),
    };
    for (size_t i = 0; i < ATTRIBUTIONS; i++)
        maker->words.attributions[i] =
            catalog_string(catalog, attribution_name((enum attributed)i));
    for (size_t i = 0; i < KERNEL_FAMILIES; i++)
        maker->words.families[i] =
            catalog_string(catalog, kernel_family_name((enum kernel_family)i));
}

static void assign_first_ids(struct profile_maker *maker)
{
    const struct analysis *analysis = maker->analysis;
    const struct catalog *catalog = analysis->catalog;
    uint64_t next = 0;
    maker->first_event = mem_zeroed(catalog->tracks.count, sizeof *maker->first_event);
    for (size_t i = 0; i < catalog->tracks.count; i++) {
        maker->first_event[i] = next;
        next += catalog->tracks.items[i].events;
    }
    maker->first_operation = mem_zeroed(catalog->programs.count, sizeof *maker->first_operation);
    next = 0;
    for (size_t i = 0; i < catalog->programs.count; i++) {
        maker->first_operation[i] = next;
        next += catalog->programs.items[i].operations.count;
    }
    maker->first_run = mem_zeroed(analysis->rows.count, sizeof *maker->first_run);
    next = 0;
    for (size_t i = 0; i < analysis->rows.count; i++) {
        maker->first_run[i] = next;
        next += analysis->rows.items[i].events.count;
    }
}

static table_task *const other_tables[] = {
    make_operator_summaries,
    make_module_summaries,
    make_flows,
    make_runs,
    make_steps,
    make_devices,
    make_device_operations,
    make_step_breakdowns,
    make_rank_steps,
    make_rank_collectives,
    make_rank_kernels,
    make_rank_info,
    make_tracks,
    make_event_types,
    make_python_frames,
    make_modules,
    make_operations,
    make_frames,
    make_system_metadata,
    make_metadata,
    make_warnings,
    make_schema_fields,
    make_cpu_usage,
    make_memory_usage,
    make_findings,
    make_evidence,
    make_source_files,
    make_queues,
    make_samples,
    make_memory_samples,
    make_streams,
    make_layers,
    make_framework_operators,
    make_hlo_operations,
    make_opcodes,
    make_tensors,
    make_neff_headers,
    make_hbm_types,
    make_throttle_sums,
    make_device_summary,
    make_device_profiles,
    make_ranks,
};
enum { OTHER_TABLES = sizeof other_tables / sizeof *other_tables };

/* The second half: executions of devices, other tables, then timeline tracks, as tasks of one run.
 */
struct finishing {
    struct profile_maker *maker;
    struct timeline_writer *timeline;
    struct execution_tables *executions;
    uint32_t *type_names; /* by event type: name in the timeline */
    uint32_t *run_names;  /* by string of a run's name */
    pthread_mutex_t lock; /* guards the first error */
    struct error *err;
};

/* The role of lanes whose events are a device's work, by source: operations, else streams, else
 * all. The other lanes of a device repeat it. */
static enum lane_role *work_roles(const struct catalog *catalog)
{
    enum lane_role *roles = mem_zeroed(catalog->tracks.count + 1, sizeof *roles);
    const struct track *track;
    array_each (track, &catalog->tracks) {
        if (track->level != TRACK_LANE || track->parent == TRACK_NONE || track->events == 0)
            continue;
        enum lane_role *role = &roles[track->parent];
        if (track->lane == LANE_OPS || (track->lane == LANE_STREAM && *role != LANE_OPS))
            *role = track->lane;
    }
    return roles;
}

/* Tracks keep their catalog numbers, and derived rows follow: the numbers are the Track table's
 * ids. */
static void describe_tracks(struct finishing *finishing)
{
    const struct profile_maker *maker = finishing->maker;
    const struct analysis *analysis = maker->analysis;
    const struct catalog *catalog = analysis->catalog;
    struct timeline_writer *timeline = finishing->timeline;
    uint32_t events = timeline_name(timeline, text_of(table_schemas[TABLE_EVENTS].name));
    uint32_t runs = timeline_name(timeline, text_of(table_schemas[TABLE_RUNS].name));
    enum lane_role *roles = work_roles(catalog);
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        bool is_device = track->source == SOURCE_DEVICE && track->parent != TRACK_NONE;
        timeline_add_track(
            timeline, &(struct timeline_track){
                          .parent = track->parent == TRACK_NONE ? TIMELINE_NONE : track->parent,
                          .level = track->level,
                          .role = track->level == TRACK_LANE ? (uint32_t)track->lane
                                                             : (uint32_t)track->source,
                          .name = timeline_name(timeline, catalog_track_label(catalog, i)),
                          .table = events,
                          .is_counter = track->lane == LANE_COUNTER,
                          .is_work = track->level == TRACK_LANE &&
                                     (!is_device || track->lane == roles[track->parent]),
                          .first_id = maker->first_event[i],
                          .sort_key = track->sort_key,
                      });
    }
    mem_free(roles);
    for (size_t i = 0; i < analysis->rows.count; i++) {
        const struct derived_row *row = &analysis->rows.items[i];
        char name[64];
        size_t size = derived_row_name(analysis, row, name);
        timeline_add_track(timeline, &(struct timeline_track){
                                         .parent = catalog->tracks.items[row->lane].parent,
                                         .level = TRACK_LANE,
                                         .role = row->is_module ? LANE_MODULES : LANE_OPS,
                                         .name = timeline_name(timeline, (struct text){name, size}),
                                         .table = runs,
                                         .first_id = maker->first_run[i],
                                         .sort_key = catalog->tracks.items[row->lane].sort_key,
                                     });
    }
}

static void describe_names(struct finishing *finishing)
{
    const struct analysis *analysis = finishing->maker->analysis;
    const struct catalog *catalog = analysis->catalog;
    finishing->type_names = mem_alloc(catalog->types.count * sizeof *finishing->type_names);
    for (uint32_t i = 0; i < catalog->types.count; i++)
        finishing->type_names[i] =
            timeline_name(finishing->timeline, catalog_type_label(catalog, i));
    finishing->run_names = mem_zeroed(catalog->strings.by_id.count, sizeof *finishing->run_names);
    const struct derived_row *row;
    array_each (row, &analysis->rows) {
        const struct row_event *run;
        array_each (run, &row->events) {
            mem_touched(sizeof *run);
            if (!finishing->run_names[run->name])
                finishing->run_names[run->name] =
                    timeline_name(finishing->timeline, catalog_text(catalog, run->name));
        }
    }
}

static bool is_flow_end(const struct catalog *catalog, const struct lane_events *events,
                        uint64_t event)
{
    return catalog->types.items[events->type[event]].is_flow_end && events->duration_ps[event] <= 0;
}

/* Events that only count occurrences have no time, ends of flows are arrows: both are not on the
 * timeline. NULL if all events are. */
static uint64_t *drawn_order(const struct catalog *catalog, const struct lane_events *events,
                             const struct lane_analysis *lane, uint64_t *count)
{
    bool are_all_drawn = !events->occurrences;
    for (uint64_t i = 0; are_all_drawn && i < events->count; i++) {
        mem_touched(sizeof *events->type);
        are_all_drawn = !is_flow_end(catalog, events, i);
    }
    if (are_all_drawn)
        return NULL;
    uint64_t *order = mem_alloc(events->count * sizeof *order);
    *count = 0;
    for (uint64_t i = 0; i < events->count; i++) {
        uint64_t event = lane->order ? lane->order[i] : i;
        mem_touched(3 * sizeof event);
        if (event_is_timed(events, event) && !is_flow_end(catalog, events, event))
            order[(*count)++] = event;
    }
    return order;
}

static bool add_lane(struct finishing *finishing, uint32_t track, struct error *err)
{
    const struct analysis *analysis = finishing->maker->analysis;
    const struct lane_events *lane = &analysis->trace.lanes[track];
    struct timeline_events events = {.count = lane->count,
                                     .order = analysis->lanes[track].order,
                                     .start_ps = lane->start_ps,
                                     .duration_ps = lane->duration_ps,
                                     .name = lane->type,
                                     .names = finishing->type_names,
                                     .value = lane->value};
    uint64_t *order = drawn_order(analysis->catalog, lane, &analysis->lanes[track], &events.count);
    if (order)
        events.order = order;
    bool ok = timeline_add(finishing->timeline, track, &events, err);
    mem_free(order);
    return ok;
}

static bool add_runs(struct finishing *finishing, size_t index, struct error *err)
{
    const struct analysis *analysis = finishing->maker->analysis;
    const struct derived_row *row = &analysis->rows.items[index];
    size_t count = row->events.count;
    int64_t *starts = mem_alloc(count * sizeof *starts);
    int64_t *durations = mem_alloc(count * sizeof *durations);
    uint32_t *names = mem_alloc(count * sizeof *names);
    for (size_t i = 0; i < count; i++) {
        mem_touched(sizeof *row->events.items);
        starts[i] = row->events.items[i].start_ps;
        durations[i] = row->events.items[i].duration_ps;
        names[i] = finishing->run_names[row->events.items[i].name];
    }
    struct timeline_events events = {
        .count = count, .start_ps = starts, .duration_ps = durations, .name = names};
    bool ok = timeline_add(finishing->timeline, (uint32_t)(analysis->catalog->tracks.count + index),
                           &events, err);
    mem_free(starts);
    mem_free(durations);
    mem_free(names);
    return ok;
}

static bool finish_task(void *context, size_t index, unsigned worker)
{
    struct finishing *finishing = context;
    size_t executions = execution_tables_tasks(finishing->executions);
    size_t tracks = finishing->maker->analysis->catalog->tracks.count;
    struct error err;
    bool ok;
    if (index < executions)
        ok = execution_tables_make(finishing->executions, index, worker, &err);
    else if ((index -= executions) < OTHER_TABLES)
        ok = other_tables[index](finishing->maker, &err);
    else if (index - OTHER_TABLES < tracks)
        ok = add_lane(finishing, (uint32_t)(index - OTHER_TABLES), &err);
    else
        ok = add_runs(finishing, index - OTHER_TABLES - tracks, &err);
    if (!ok) {
        pthread_mutex_lock(&finishing->lock);
        *finishing->err = err;
        pthread_mutex_unlock(&finishing->lock);
    }
    return ok;
}

/* Narrows the time of work to the first execution of a device that has many: all at once show
 * little. */
static void first_execution(const struct device_cores *cores, int64_t *from_ps, int64_t *to_ps)
{
    enum { MANY = 8 };
    bool is_found = false;
    for (size_t i = 0; cores && i < cores->count; i++) {
        const struct device_core *core = &cores->items[i];
        if (core->execution_count <= MANY)
            continue;
        const struct device_execution *first = &core->executions[0];
        *from_ps = is_found && *from_ps < first->start_ps ? *from_ps : first->start_ps;
        *to_ps = is_found && *to_ps > first->end_ps ? *to_ps : first->end_ps;
        is_found = true;
    }
}

/* All tables and lanes are tasks of one pool run, so small ones fill the gaps of large ones.
 * The timeline is committed only if all succeeded. */
static bool make_from_analysis(struct profile_maker *maker, struct error *err)
{
    const struct analysis *analysis = maker->analysis;
    struct finishing finishing = {.maker = maker, .err = err};
    char path[MAX_PATH];
    snprintf(path, sizeof path, "%s/%s", maker->directory, TIMELINE_FILE);
    if (!timeline_create(&finishing.timeline, path, analysis->summary.first_ps, err))
        return false;
    int64_t work_from_ps = analysis->summary.work_first_ps;
    int64_t work_to_ps = analysis->summary.work_last_ps;
    first_execution(maker->devices, &work_from_ps, &work_to_ps);
    timeline_set_work(finishing.timeline, work_from_ps, work_to_ps);
    pthread_mutex_init(&finishing.lock, NULL);
    describe_tracks(&finishing);
    describe_names(&finishing);
    finishing.executions = execution_tables_begin(maker);
    size_t tasks = execution_tables_tasks(finishing.executions) + OTHER_TABLES +
                   analysis->catalog->tracks.count + analysis->rows.count;
    bool ok = pool_run(maker->pool, tasks, finish_task, &finishing);
    if (ok)
        ok = timeline_commit(finishing.timeline, err);
    else
        timeline_discard(finishing.timeline);
    execution_tables_free(finishing.executions);
    mem_free(finishing.type_names);
    mem_free(finishing.run_names);
    pthread_mutex_destroy(&finishing.lock);
    return ok;
}

static bool make_summary(const struct profile_options *options, const struct profile_maker *maker,
                         struct error *err)
{
    char path[MAX_PATH];
    if (!options->summarize)
        return true;
    snprintf(path, sizeof path, "%s/%s", maker->directory, SUMMARY_FILE);
    return options->summarize(maker->analysis, path, err);
}

/* Everything is written to a staging directory and appears at the target at once, or not at
 * all. */
bool profile_make(const struct profile_options *options, const struct analysis *analysis,
                  struct source *source, struct pool *pool, struct error *err)
{
    struct staging staging;
    if (!staging_begin(&staging, options->target, options->replace, err))
        return false;
    struct profile_maker maker = {.source = source,
                                  .analysis = analysis,
                                  .pool = pool,
                                  .directory = staging.directory,
                                  .name = options->name,
                                  .version = options->version,
                                  .options = options,
                                  .devices = options->devices};
    pthread_mutex_init(&maker.lock, NULL);
    intern_init(&maker.collective_texts);
    add_words(&maker);
    python_files_find(&maker);
    device_names_make(&maker);
    assign_first_ids(&maker);
    /* Queries and importers expect these tables, even without rows. */
    bool ok = maker_open(&maker, TABLE_EVENTS, err) && maker_open(&maker, TABLE_FINDINGS, err) &&
              maker_open(&maker, TABLE_EVIDENCE, err) && make_event_tables(&maker, err) &&
              make_from_analysis(&maker, err);
    ok = maker_close(&maker, ok, err) && make_summary(options, &maker, err);
    mem_free(maker.first_event);
    mem_free(maker.first_operation);
    mem_free(maker.first_run);
    array_free(&maker.python_files);
    array_free(&maker.collectives);
    intern_free(&maker.collective_texts);
    device_names_free(&maker);
    pthread_mutex_destroy(&maker.lock);
    if (!ok) {
        staging_abandon(&staging);
        return false;
    }
    return staging_commit(&staging, err);
}
