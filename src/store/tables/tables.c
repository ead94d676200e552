/*
 * Tables from the analysis and the catalog: flows, runs, steps, tracks, event types.
 */
#include "store/tables/fill.h"
#include "store/tables/profile.h"

static uint64_t event_id(const struct profile_maker *maker, const struct event_ref *ref)
{
    return maker->first_event[ref->track] + ref->event;
}

static bool put_flow(void *context, const struct flow *flow)
{
    struct filler *filler = context;
    const struct analysis *analysis = filler->maker->analysis;
    const struct lane_events *cause = &analysis->trace.lanes[flow->from.track];
    const struct lane_events *effect = &analysis->trace.lanes[flow->to.track];
    const struct words *words = &filler->maker->words;
    mem_touched(MEM_JUMP / 64); /* most flows are close to the previous one */
    int64_t gap_ps =
        sub_saturated(effect->start_ps[flow->to.event], event_end(cause, flow->from.event));
    struct record *record = fill_record(filler);
    record_put(record, FLOW_IN, (int64_t)event_id(filler->maker, &flow->from));
    record_put(record, FLOW_OUT, (int64_t)event_id(filler->maker, &flow->to));
    record_put(record, FLOW_IN_TABLE, words->events_table);
    record_put(record, FLOW_OUT_TABLE, words->events_table);
    record_put(record, FLOW_TYPE, flow->kind == FLOW_LAUNCH ? words->launch : words->context);
    record_put(record, FLOW_GAP, whole_ns(gap_ps));
    return fill_continue(filler);
}

bool make_flows(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_FLOWS, err);
    analysis_flows(maker->analysis, put_flow, &filler);
    return fill_end(&filler);
}

/* Derived rows are tracks after the catalog's, hence the track id. Group 0 means no step. */
static void put_run(struct filler *filler, size_t row_number, size_t run_number)
{
    const struct profile_maker *maker = filler->maker;
    const struct derived_row *row = &maker->analysis->rows.items[row_number];
    const struct row_event *run = &row->events.items[run_number];
    struct record *record = fill_record(filler);
    int64_t start = whole_ns(run->start_ps), duration = whole_ns(run->duration_ps);
    record_put(record, RUN_ID, (int64_t)(maker->first_run[row_number] + run_number));
    record_put(record, RUN_KIND, row->is_module ? maker->words.module : maker->words.operation);
    record_put(record, RUN_NAME, run->name);
    record_put(record, RUN_START, start);
    record_put(record, RUN_END, add_saturated(start, duration));
    record_put(record, RUN_DURATION, duration);
    record_put(record, RUN_TRACK, (int64_t)(filler->catalog->tracks.count + row_number));
    record_put(record, RUN_STREAM_TRACK, row->lane);
    if (run->program != NO_INDEX)
        record_put(record, RUN_MODULE, run->program);
    if (run->program != NO_INDEX && run->operation != NO_INDEX)
        record_put(record, RUN_OPERATION,
                   (int64_t)(maker->first_operation[run->program] + run->operation));
    if (run->group != 0)
        record_put(record, RUN_STEP, run->group - 1);
    record_put(record, RUN_KERNELS, run->kernels);
    record_put(record, RUN_KERNEL_TIME, whole_ns(run->kernel_ps));
}

bool make_runs(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_RUNS, err);
    for (size_t i = 0; i < maker->analysis->rows.count; i++) {
        size_t count = maker->analysis->rows.items[i].events.count;
        for (size_t k = 0; k < count && fill_continue(&filler); k++) {
            mem_touched(sizeof(struct row_event));
            put_run(&filler, i, k);
        }
    }
    return fill_end(&filler);
}

/* A row for each step. Its end is that of the last device, its durations those of the longest. */
bool make_steps(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_STEPS, err);
    struct rows *rows = &filler.rows;
    const struct analysis *analysis = maker->analysis;
    for (size_t i = 0; i < analysis->steps.count; i++) {
        const struct step *step = &analysis->steps.items[i];
        uint32_t type = analysis->trace.lanes[step->root.track].type[step->root.event];
        bool on_device = step->device_events > 0;
        rows_int(rows, STEP_ID, (int64_t)i);
        rows_int(rows, STEP_NUMBER, step->number);
        rows_name(rows, STEP_NAME, filler.catalog->types.items[type].name);
        rows_int(rows, STEP_EVENT, (int64_t)event_id(maker, &step->root));
        rows_int(rows, STEP_START, whole_ns(step->start_ps));
        rows_int(rows, STEP_END, add_saturated(whole_ns(step->start_ps), whole_ns(step->host_ps)));
        rows_int(rows, STEP_DURATION, whole_ns(step_duration(step)));
        fill_index(&filler, STEP_DEVICE_START, on_device,
                   (uint64_t)whole_ns(step->device_start_ps));
        fill_index(&filler, STEP_DEVICE_END, on_device, (uint64_t)whole_ns(step->device_end_ps));
        rows_int(rows, STEP_DEVICE_EVENTS, (int64_t)step->device_events);
        fill_word(&filler, STEP_ORIGIN, step_origin_name(analysis->step_origin));
        fill_index(&filler, STEP_DEVICE_TIME, on_device, (uint64_t)whole_ns(step->device_ps));
        if (!fill_continue(&filler))
            break;
    }
    return fill_end(&filler);
}

static struct text level_name(enum track_level level)
{
    static const char *const names[] = {"instance", "process", "source", "lane"};
    return text_of(names[level]);
}

static void put_role(struct filler *filler, const struct track *track)
{
    static const char *const sources[] = {
        [SOURCE_OTHER] = NULL, [SOURCE_HOST] = "host", [SOURCE_DEVICE] = "device"};
    const char *role = track->level == TRACK_LANE     ? lane_role_names[track->lane]
                       : track->level == TRACK_SOURCE ? sources[track->source]
                                                      : NULL;
    if (role)
        fill_word(filler, TRACK_ROLE, text_of(role));
    else
        rows_nulls(&filler->rows, TRACK_ROLE, 1);
}

static uint32_t label_of(const struct track *track)
{
    return track->display_name ? track->display_name : track->name;
}

static uint32_t instance_of(const struct catalog *catalog, uint32_t track)
{
    return label_of(&catalog->tracks.items[catalog_ancestor(catalog, track, TRACK_INSTANCE)]);
}

/* Only lanes hold events; a lane whose events have no times gets no extent. */
static void put_catalog_track(struct filler *filler, uint32_t number)
{
    struct rows *rows = &filler->rows;
    const struct profile_maker *maker = filler->maker;
    const struct track *track = &filler->catalog->tracks.items[number];
    const struct lane_analysis *lane = &maker->analysis->lanes[number];
    bool has_events = track->level == TRACK_LANE && track->events > 0;
    bool has_times = has_events && lane->first_ps <= lane->last_ps;
    rows_int(rows, TRACK_ID, number);
    fill_index(filler, TRACK_PARENT, track->parent != TRACK_NONE, track->parent);
    fill_word(filler, TRACK_KIND, level_name(track->level));
    rows_name(rows, TRACK_NAME, label_of(track));
    put_role(filler, track);
    rows_name(rows, TRACK_INSTANCE_NAME, instance_of(filler->catalog, number));
    rows_int(rows, TRACK_NUMBER, track->id);
    rows_int(rows, TRACK_SORT_KEY, track->sort_key);
    rows_int(rows, TRACK_EVENTS, (int64_t)track->events);
    fill_index(filler, TRACK_FIRST_ID, has_events, maker->first_event[number]);
    if (has_events)
        fill_word(filler, TRACK_TABLE, text_of(table_schemas[TABLE_EVENTS].name));
    else
        rows_nulls(rows, TRACK_TABLE, 1);
    fill_index(filler, TRACK_START, has_times, (uint64_t)whole_ns(lane->first_ps));
    fill_index(filler, TRACK_END, has_times, (uint64_t)whole_ns(lane->last_ps));
    fill_index(filler, TRACK_BUSY, has_times, (uint64_t)whole_ns(lane->busy_ps));
    fill_args(filler, TRACK_ATTRIBUTES, &track->args);
}

/* Tracks of derived runs, after those of the source. */
static void put_derived_track(struct filler *filler, size_t index)
{
    struct rows *rows = &filler->rows;
    const struct catalog *catalog = filler->catalog;
    const struct derived_row *row = &filler->maker->analysis->rows.items[index];
    const struct track *lane = &catalog->tracks.items[row->lane];
    char name[64];
    size_t size = derived_row_name(filler->maker->analysis, row, name);
    int64_t last = INT64_MIN, busy = 0;
    const struct row_event *run;
    array_each (run, &row->events) {
        mem_touched(sizeof *run);
        int64_t end = add_saturated(run->start_ps, run->duration_ps);
        int64_t from = run->start_ps > last ? run->start_ps : last;
        busy = end > from ? add_saturated(busy, end - from) : busy;
        last = end > last ? end : last;
    }
    bool has_events = row->events.count > 0;
    rows_int(rows, TRACK_ID, (int64_t)(catalog->tracks.count + index));
    rows_int(rows, TRACK_PARENT, lane->parent);
    fill_word(filler, TRACK_KIND, level_name(TRACK_LANE));
    fill_word(filler, TRACK_NAME, (struct text){name, size});
    fill_word(filler, TRACK_ROLE, row->is_module ? TEXT("modules") : TEXT("ops"));
    rows_name(rows, TRACK_INSTANCE_NAME, instance_of(catalog, row->lane));
    rows_int(rows, TRACK_NUMBER, lane->id);
    rows_int(rows, TRACK_SORT_KEY, lane->sort_key);
    rows_int(rows, TRACK_EVENTS, (int64_t)row->events.count);
    fill_index(filler, TRACK_FIRST_ID, has_events, filler->maker->first_run[index]);
    fill_word(filler, TRACK_TABLE, text_of(table_schemas[TABLE_RUNS].name));
    fill_index(filler, TRACK_START, has_events,
               has_events ? (uint64_t)whole_ns(row->events.items[0].start_ps) : 0);
    fill_index(filler, TRACK_END, has_events, (uint64_t)whole_ns(last));
    fill_index(filler, TRACK_BUSY, has_events, (uint64_t)whole_ns(busy));
    rows_nulls(rows, TRACK_ATTRIBUTES, 1);
}

bool make_tracks(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_TRACKS, err);
    for (uint32_t i = 0; i < filler.catalog->tracks.count && fill_continue(&filler); i++)
        put_catalog_track(&filler, i);
    for (size_t i = 0; i < maker->analysis->rows.count && fill_continue(&filler); i++)
        put_derived_track(&filler, i);
    return fill_end(&filler);
}

bool make_event_types(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_EVENT_TYPES, err);
    const uint8_t *roles = maker->analysis->type_roles;
    for (size_t i = 0; i < filler.catalog->types.count && fill_continue(&filler); i++) {
        const struct event_type *type = &filler.catalog->types.items[i];
        rows_int(&filler.rows, TYPE_ID, (int64_t)i);
        rows_name(&filler.rows, TYPE_NAME, type->name);
        fill_string(&filler, TYPE_DISPLAY_NAME, type->display_name);
        fill_args(&filler, TYPE_ATTRIBUTES, &type->args);
        fill_word(&filler, TYPE_KIND,
                  type->is_flow_end ? TEXT("flow") : type_role_name((enum type_role)roles[i]));
    }
    return fill_end(&filler);
}

/* JAX names Python calls "$file.py:31 function", and "$module function" where there is no file. */
struct python_name {
    struct text file, function;
    bool has_line;
    int64_t line;
};

static bool read_python_name(struct text name, struct python_name *python)
{
    const char *blank = name.size > 1 ? memchr(name.data, ' ', name.size) : NULL;
    if (!blank || name.data[0] != '$')
        return false;
    struct text location = {name.data + 1, (size_t)(blank - name.data) - 1};
    *python = (struct python_name){
        .file = location, .function = {blank + 1, name.size - (size_t)(blank + 1 - name.data)}};
    size_t digits = 0;
    while (digits < location.size && digits < 9 &&
           location.data[location.size - digits - 1] >= '0' &&
           location.data[location.size - digits - 1] <= '9')
        digits++;
    if (digits == 0 || digits + 1 > location.size ||
        location.data[location.size - digits - 1] != ':')
        return true;
    for (size_t i = location.size - digits; i < location.size; i++)
        python->line = python->line * 10 + (location.data[i] - '0');
    python->has_line = true;
    python->file.size = location.size - digits - 1;
    return true;
}

void python_files_find(struct profile_maker *maker)
{
    struct catalog *catalog = &maker->source->catalog;
    bool is_wanted = maker->options->framework_source_root || maker->options->nki_source_root;
    for (size_t i = 0; is_wanted && i < catalog->types.count; i++) {
        struct python_name python;
        if (read_python_name(catalog_text(catalog, catalog->types.items[i].name), &python) &&
            python.has_line)
            *array_push(&maker->python_files) = catalog_string(catalog, python.file);
    }
}

bool make_python_frames(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_PYTHON_FRAMES, err);
    for (size_t i = 0; i < filler.catalog->types.count && fill_continue(&filler); i++) {
        uint32_t name = filler.catalog->types.items[i].name;
        struct python_name python;
        if (!read_python_name(catalog_text(filler.catalog, name), &python))
            continue;
        rows_int(&filler.rows, PYTHON_TYPE, (int64_t)i);
        rows_name(&filler.rows, PYTHON_NAME, name);
        if (python.has_line)
            fill_word(&filler, PYTHON_FILE, python.file);
        else
            rows_nulls(&filler.rows, PYTHON_FILE, 1);
        fill_index(&filler, PYTHON_LINE, python.has_line, (uint64_t)python.line);
        fill_word(&filler, PYTHON_FUNCTION, python.function);
    }
    return fill_end(&filler);
}
