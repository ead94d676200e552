/*
 * InfluxDB export: writes a profile as points. Measurements and fields are named as in the JSON
 * document:
 *
 * trace_events every event except samples: name, id, duration, start_ps, duration_ps, step, ...
 * counters every counter sample: name, id, value steps the steps of the program: name, number,
 * start_ps, duration_ps, ... derived_rows program executions and operations derived for a device
 * system_profile_metadata one point, written last: marks the profile as complete
 *
 * Tags give the location of an event and have few values: profile, instance_id, group, source,
 * lane, and track, a number that identifies the last four. Everything else is in fields. The time
 * is the `timestamp` of the JSON document; points that would overwrite each other differ in the tag
 * `collision` (see influx.h).
 *
 * A field has one type in the whole bucket, across profiles, but args of the same name may have
 * different types. So the field of an arg is prefixed with its type: int.bytes, float.occupancy,
 * text.long_name. Values without a type here are written as JSON text: lists, bytes, numbers that
 * are not finite or exceed 64 bits signed. null.x is true for a key without a value. Events of
 * device profiles have fields for their work and origin (device_work.h).
 *
 * Workers format and compress chunks of some thousand lines concurrently while others are being
 * sent; only these few are in memory.
 */
#include "export/influx/influx.h"
#include "export/device_work.h"

#include <math.h>
#include <stdio.h>

enum { CHUNK_POINTS = 5000, CHUNK_BYTES = 4 << 20 };

/* A worker's output. */
struct maker {
    struct output lines, packed, json;
    uint64_t points;
    struct packer *packer;
};

struct influx_export {
    struct sink sink;
    const struct analysis *analysis;
    const struct catalog *catalog;
    struct text profile;
    struct influx_queue *queue;
    struct location *locations; /* by track */
    uint64_t *first_event;      /* by track: id of its first event */
    struct output series;       /* measurement and tags of each lane, concatenated */
    size_t *series_end;         /* by track */
    uint32_t *collisions;
    struct maker *makers; /* one per worker */
    unsigned workers;
    bool has_devices;
    struct device_work_list work; /* of devices */
};

static bool flush(struct influx_export *export, struct maker *maker, struct error *err)
{
    if (maker->points == 0)
        return true;
    packer_pack(maker->packer, maker->lines.data, maker->lines.size, &maker->packed);
    uint64_t points = maker->points;
    maker->lines.size = 0;
    maker->points = 0;
    return influx_queue_push(export->queue, &maker->packed, points, err);
}

static bool end_point(struct influx_export *export, struct maker *maker, struct error *err)
{
    maker->points++;
    if (maker->points < CHUNK_POINTS && maker->lines.size < CHUNK_BYTES)
        return true;
    return flush(export, maker, err);
}

struct arg_writer {
    struct point *point;
    struct output *json;
    const struct catalog *catalog;
};

static void put_as_json(const struct arg_writer *writer, const struct arg_group *group,
                        struct text key)
{
    struct json json;
    writer->json->size = 0;
    json_begin(&json, writer->json, false);
    arg_group_to_json(&json, writer->catalog, group);
    size_t size = writer->json->size;
    if (size > 0 && writer->json->data[size - 1] == '\n')
        size--; /* after the last bracket */
    point_key(writer->point, "text.", key);
    point_text(writer->point, (struct text){writer->json->data, size});
}

/* Every value gets the type that InfluxDB can store exactly; the others become text. See the top of
 * the file for the prefixes. */
static void put_arg(void *context, const struct arg_group *group)
{
    const struct arg_writer *writer = context;
    const struct arg *arg = &group->args->items[group->first];
    struct text key = catalog_text(writer->catalog, arg->key);
    bool is_whole = arg->type == ARG_INT || (arg->type == ARG_UINT && arg->uinteger <= INT64_MAX);
    if (group->is_list || arg->type == ARG_BYTES || arg->type == ARG_JSON ||
        (arg->type == ARG_UINT && !is_whole)) {
        put_as_json(writer, group, key);
    } else if (is_whole) {
        point_key(writer->point, "int.", key);
        point_int(writer->point, arg->integer);
    } else if (arg->type == ARG_DOUBLE && isfinite(arg->number)) {
        point_key(writer->point, "float.", key);
        point_double(writer->point, arg->number);
    } else if (arg->type == ARG_STRING || arg->type == ARG_TEXT) {
        point_key(writer->point, "text.", key);
        point_text(writer->point, arg_text(writer->catalog, arg));
    } else if (arg->type == ARG_DOUBLE) {
        point_key(writer->point, "text.", key);
        point_text(writer->point, isnan(arg->number) ? TEXT("NaN")
                                  : arg->number > 0  ? TEXT("Infinity")
                                                     : TEXT("-Infinity"));
    } else {
        point_key(writer->point, "null.", key);
        point_bool(writer->point, true);
    }
}

static void put_number_text(struct point *point, const char *key, int64_t number)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%lld", (long long)number);
    point_put_text(point, key, (struct text){text, (size_t)size});
}

static void put_location(struct point *point, const struct location *location)
{
    put_number_text(point, "process_id", location->process);
    point_put_int(point, "thread_id", location->thread);
    if (location->has_core) {
        put_number_text(point, "lnc_idx", location->core);
        point_put_int(point, "worker_gid", location->worker);
    }
    if (location->layer == LAYER_FRAMEWORK)
        point_put_int(point, "type", FRAMEWORK_EVENT);
}

static void put_step(struct point *point, uint32_t group)
{
    if (group)
        point_put_int(point, "step", (int64_t)group - 1);
}

static void put_value(struct point *point, double value)
{
    if (isfinite(value)) {
        point_key(point, "value", TEXT(""));
        point_double(point, value);
        return;
    }
    point_put_text(point, "value_text",
                   isnan(value) ? TEXT("NaN")
                   : value > 0  ? TEXT("Infinity")
                                : TEXT("-Infinity"));
}

static void put_times(struct point *point, const struct batch *batch, uint32_t event)
{
    if (batch->has_occurrences && batch->occurrences[event] != OCCURRENCES_TIMED)
        point_put_int(point, "num_occurrences", batch->occurrences[event]);
    else
        point_put_int(point, "start_ps", batch->start_ps[event]);
    point_put_int(point, "duration", whole_ns(batch->duration_ps[event]));
    point_put_int(point, "duration_ps", batch->duration_ps[event]);
}

static void put_series(struct influx_export *export, struct output *out, uint32_t track,
                       uint32_t collision)
{
    size_t from = track ? export->series_end[track - 1] : 0;
    output_write(out, export->series.data + from, export->series_end[track] - from);
    if (collision)
        series_tag_uint(out, "collision", collision);
}

/* The origin of an instruction, and its work. */
static void put_device_work(const struct influx_export *export, struct arg_writer *writer,
                            uint32_t track, uint64_t event, uint32_t type)
{
    struct device_value values[DEVICE_KEYS];
    size_t count = device_work_values(&export->work, track, event, values);
    args_each_key(&export->catalog->types.items[type].args, put_arg, writer);
    for (size_t i = 0; i < count; i++) {
        struct text key = text_of(device_key_name(values[i].key));
        bool is_text = values[i].key == KEY_OPERANDS;
        point_key(writer->point, is_text ? "text." : "int.", key);
        if (is_text)
            point_text(writer->point, intern_text(&export->work.texts, (uint32_t)values[i].value));
        else
            point_int(writer->point, (int64_t)values[i].value);
    }
}

/* Called by several workers, each with its own buffers. The true time is a field only if the point
 * had to be moved. */
static void put_event(struct influx_export *export, struct maker *maker, const struct batch *batch,
                      uint32_t event)
{
    const struct catalog *catalog = export->catalog;
    const struct analysis *analysis = export->analysis;
    const uint32_t *group = analysis->lanes[batch->track].group;
    uint64_t number = batch->first + event;
    uint32_t type = batch->type[event];
    uint32_t collision = export->collisions[lane_first(&analysis->trace, batch->track) + number];
    int64_t epoch_ns = catalog->start_epoch_ns == TIME_UNSET ? 0 : catalog->start_epoch_ns;
    int64_t true_ns = add_saturated(epoch_ns, whole_ns(batch->start_ps[event]));
    int64_t time_ns = point_time(catalog, batch->start_ps[event]) + (collision >> COLLISION_BITS);
    struct arg_list args = batch_args(batch, event);
    struct point point;
    put_series(export, &maker->lines, batch->track, collision % MAX_COLLISIONS);
    point_begin(&point, &maker->lines);
    point_put_int(&point, "id", (int64_t)(export->first_event[batch->track] + number));
    point_put_text(&point, "name", catalog_text(catalog, catalog->types.items[type].name));
    if (type != 0)
        point_put_int(&point, "event_type", type);
    put_times(&point, batch, event);
    if (time_ns != true_ns)
        point_put_int(&point, "timestamp", true_ns);
    put_location(&point, &export->locations[batch->track]);
    put_step(&point, group ? group[number] : 0);
    if (batch->has_values)
        put_value(&point, batch->value[event]);
    struct arg_writer writer = {&point, &maker->json, catalog};
    args_each_key(&args, put_arg, &writer);
    if (export->has_devices)
        put_device_work(export, &writer, batch->track, number, type);
    point_end(&point, time_ns);
}

static bool take_batch(struct sink *base, const struct batch *batch, unsigned worker,
                       struct error *err)
{
    struct influx_export *export = (struct influx_export *)base;
    struct maker *maker = &export->makers[worker];
    mem_touched(batch->count * sizeof *export->collisions);
    for (uint32_t event = 0; event < batch->count; event++) {
        put_event(export, maker, batch, event);
        if (!end_point(export, maker, err))
            return false;
    }
    return true;
}

static void begin_series(const struct influx_export *export, struct output *out,
                         const char *measurement, uint32_t track)
{
    const struct catalog *catalog = export->catalog;
    const struct location *location = &export->locations[track];
    char group[MAX_GROUP_NAME];
    series_begin(out, measurement);
    series_tag(out, "group", location_group(location, group));
    series_tag(out, "instance_id", catalog_text(catalog, location->instance));
    series_tag(out, "lane", catalog_track_label(catalog, track));
    series_tag(out, "profile", export->profile);
}

/* Tags sorted by key, as the server stores them. */
static void end_series(const struct influx_export *export, struct output *out, uint32_t track)
{
    uint32_t source = export->catalog->tracks.items[track].parent;
    series_tag(out, "source", catalog_track_label(export->catalog, source));
    series_tag_uint(out, "track", track);
}

/* Steps of one track may start in the same nanosecond, so they need collision tags of their own,
 * independent of the events'. */
static bool put_steps(struct influx_export *export, struct maker *maker, struct error *err)
{
    const struct analysis *analysis = export->analysis;
    struct collision_run *runs = mem_zeroed(export->catalog->tracks.count, sizeof *runs);
    bool ok = true;
    for (size_t i = 0; i < analysis->steps.count && ok; i++) {
        const struct step *step = &analysis->steps.items[i];
        struct collision_run *run = &runs[step->root.track];
        uint32_t type = analysis->trace.lanes[step->root.track].type[step->root.event];
        struct point point;
        begin_series(export, &maker->lines, "steps", step->root.track);
        end_series(export, &maker->lines, step->root.track);
        collision_run_add(run, point_time(export->catalog, step->start_ps));
        if (run->collision)
            series_tag_uint(&maker->lines, "collision", run->collision);
        point_begin(&point, &maker->lines);
        point_put_text(&point, "name", catalog_type_label(export->catalog, type));
        point_put_int(&point, "step", (int64_t)i);
        point_put_int(&point, "number", step->number);
        point_put_int(&point, "event", (int64_t)step->root.event);
        point_put_int(&point, "start_ps", step->start_ps);
        point_put_int(&point, "duration_ps", step_duration(step));
        if (step->device_events > 0) {
            point_put_int(&point, "device_start_ps", step->device_start_ps);
            point_put_int(&point, "device_end_ps", step->device_end_ps);
            point_put_int(&point, "device_ps", step->device_ps);
        }
        point_put_int(&point, "device_event_count", (int64_t)step->device_events);
        point_end(&point, run->time_ns);
        ok = end_point(export, maker, err);
    }
    mem_free(runs);
    return ok;
}

static void put_row_event(const struct influx_export *export, struct maker *maker,
                          const struct row_event *event, int64_t time_ns)
{
    const struct catalog *catalog = export->catalog;
    struct point point;
    point_begin(&point, &maker->lines);
    point_put_text(&point, "name", catalog_text(catalog, event->name));
    point_put_int(&point, "start_ps", event->start_ps);
    point_put_int(&point, "duration_ps", event->duration_ps);
    point_put_int(&point, "kernel_count", event->kernels);
    put_step(&point, event->group);
    if (event->program != NO_INDEX) {
        const struct program *program = &catalog->programs.items[event->program];
        point_put_int(&point, "program_id", (int64_t)program->id);
        if (event->operation != NO_INDEX) {
            const struct operation *op = &program->operations.items[event->operation];
            point_put_text(&point, "op_name", catalog_text(catalog, op->op_name));
            point_put_text(&point, "source_file", catalog_text(catalog, op->file));
            point_put_int(&point, "source_line", op->line);
        }
    }
    point_end(&point, time_ns);
}

static bool put_rows(struct influx_export *export, struct maker *maker, struct error *err)
{
    const struct derived_row *row;
    array_each (row, &export->analysis->rows) {
        char name[64];
        struct text row_name = {name, derived_row_name(export->analysis, row, name)};
        struct collision_run run = {0};
        const struct row_event *event;
        array_each (event, &row->events) {
            begin_series(export, &maker->lines, "derived_rows", row->lane);
            series_tag(&maker->lines, "row", row_name);
            end_series(export, &maker->lines, row->lane);
            collision_run_add(&run, point_time(export->catalog, event->start_ps));
            if (run.collision)
                series_tag_uint(&maker->lines, "collision", run.collision);
            put_row_event(export, maker, event, run.time_ns);
            if (!end_point(export, maker, err))
                return false;
        }
    }
    return true;
}

/* The last point, which marks the profile as complete. */
static bool put_metadata(struct influx_export *export, struct influx *influx, struct error *err)
{
    const struct summary *summary = &export->analysis->summary;
    struct maker *maker = &export->makers[0];
    struct point point;
    int64_t first_ns = point_time(export->catalog, summary->first_ps);
    series_begin(&maker->lines, "system_profile_metadata");
    series_tag(&maker->lines, "profile", export->profile);
    point_begin(&point, &maker->lines);
    point_put_text(&point, "format", text_of(export->catalog->format));
    point_put_int(&point, "event_count", (int64_t)summary->events);
    point_put_int(&point, "first_ts_ns", first_ns);
    point_put_int(&point, "last_ts_ns", point_time(export->catalog, summary->last_ps));
    point_end(&point, first_ns);
    packer_pack(maker->packer, maker->lines.data, maker->lines.size, &maker->packed);
    return influx_write(influx, influx->http, maker->packed.data, maker->packed.size, err);
}

/* Series are formatted once per lane, since all its points begin with the same one. Workers get
 * their buffers here; clean_up frees them. */
static void prepare(struct influx_export *export)
{
    const struct catalog *catalog = export->catalog;
    size_t tracks = catalog->tracks.count;
    export->locations = locations_of(catalog);
    export->first_event = mem_zeroed(tracks, sizeof *export->first_event);
    export->series_end = mem_zeroed(tracks, sizeof *export->series_end);
    output_memory(&export->series);
    uint64_t events = 0;
    for (uint32_t i = 0; i < tracks; i++) {
        const struct track *track = &catalog->tracks.items[i];
        export->first_event[i] = events;
        events += track->events;
        if (track->level == TRACK_LANE && track->events > 0) {
            begin_series(export, &export->series,
                         track->lane == LANE_COUNTER ? "counters" : "trace_events", i);
            end_series(export, &export->series, i);
        }
        export->series_end[i] = export->series.size;
    }
    export->makers = mem_zeroed(export->workers, sizeof *export->makers);
    for (unsigned i = 0; i < export->workers; i++) {
        output_memory(&export->makers[i].lines);
        output_memory(&export->makers[i].packed);
        output_memory(&export->makers[i].json);
        export->makers[i].packer = packer_create();
    }
}

static void clean_up(struct influx_export *export)
{
    for (unsigned i = 0; i < export->workers; i++) {
        output_discard(&export->makers[i].lines);
        output_discard(&export->makers[i].packed);
        output_discard(&export->makers[i].json);
        packer_destroy(export->makers[i].packer);
    }
    mem_free(export->makers);
    output_discard(&export->series);
    mem_free(export->series_end);
    mem_free(export->first_event);
    mem_free(export->locations);
    mem_free(export->collisions);
}

static bool put_all(struct influx_export *export, struct source *source, struct pool *pool,
                    struct error *err)
{
    bool ok = find_collisions(export->analysis, pool, &export->collisions, err) &&
              source_read(source, &export->sink, pool, err) &&
              put_steps(export, &export->makers[0], err) &&
              put_rows(export, &export->makers[0], err);
    for (unsigned i = 0; i < export->workers && ok; i++)
        ok = flush(export, &export->makers[i], err);
    return ok;
}

/* So that a partial upload is not mistaken for a complete one. */
static void add_written_count(struct error *err, uint64_t written)
{
    size_t size = strlen(err->text);
    snprintf(err->text + size, sizeof err->text - size, "; %llu points had been written",
             (unsigned long long)written);
}

/* The metadata is written last and alone, after the queue has ended: a profile that has it is
 * complete. The count is reported on failure as well. */
bool export_influx(const struct analysis *analysis, struct source *source, struct pool *pool,
                   struct influx *influx, const struct influx_profile *profile, uint64_t *written,
                   struct error *err)
{
    struct influx_export export = {.sink = {.batch = take_batch},
                                   .analysis = analysis,
                                   .catalog = analysis->catalog,
                                   .profile = text_of(profile->name),
                                   .has_devices = profile->devices != NULL,
                                   .workers = pool_workers(pool)};
    *written = 0;
    if (profile->replace && !influx_remove(influx, profile->name, err))
        return false;
    export.queue = influx_queue_start(influx, err);
    if (!export.queue)
        return false;
    prepare(&export);
    if (profile->devices)
        device_work_find(&export.work, profile->devices, analysis->catalog->tracks.count);
    bool ok = put_all(&export, source, pool, err);
    ok = influx_queue_end(export.queue, !ok, written, err) && put_metadata(&export, influx, err);
    *written += ok;
    if (!ok)
        add_written_count(err, *written);
    device_work_free(&export.work);
    clean_up(&export);
    return ok;
}
