/*
 * A whole profile as JSON: its catalog, every event with its args, and the results of the analysis.
 */
#include "export/json_events.h"

#include <math.h>
#include <stdio.h>

static const char *level_name(enum track_level level)
{
    static const char *const names[] = {"instance", "process", "source", "lane"};
    return names[level];
}

/* The roles of sources and lanes. */
static void put_role(struct json *json, const struct track *track)
{
    static const char *const sources[] = {
        [SOURCE_OTHER] = "other", [SOURCE_HOST] = "host", [SOURCE_DEVICE] = "device"};
    if (track->level == TRACK_SOURCE)
        json_put_text(json, "role", text_of(sources[track->source]));
    if (track->level != TRACK_LANE)
        return;
    json_put_text(json, "role", text_of(lane_role_names[track->lane]));
    if (track->core)
        json_put_uint(json, "core", track->core);
}

/* Parents come before their children, as in the catalog; the importer relies on it. */
static void put_tracks(struct json *json, const struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    json_key(json, "tracks");
    json_open(json, '[');
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        json_open_row(json, '{');
        json_put_uint(json, "track", i);
        if (track->parent != TRACK_NONE)
            json_put_uint(json, "parent", track->parent);
        json_put_text(json, "level", text_of(level_name(track->level)));
        json_put_text(json, "name", catalog_text(catalog, track->name));
        if (track->display_name)
            json_put_text(json, "display_name", catalog_text(catalog, track->display_name));
        json_put_int(json, "id", track->id);
        json_put_int(json, "sort_key", track->sort_key);
        put_role(json, track);
        if (track->level == TRACK_LANE) {
            json_put_uint(json, "event_count", track->events);
            json_key(json, "is_counter");
            json_bool(json, track->lane == LANE_COUNTER);
        }
        put_args(json, catalog, &track->args);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

/* Types that are only a name are omitted. */
static void put_types(struct json *json, const struct catalog *catalog)
{
    json_key(json, "event_types");
    json_open(json, '[');
    for (uint32_t i = 0; i < catalog->types.count; i++) {
        const struct event_type *type = &catalog->types.items[i];
        if (type->args.count == 0 && !type->display_name)
            continue;
        json_open_row(json, '{');
        json_put_uint(json, "event_type", i);
        json_put_text(json, "name", catalog_text(catalog, type->name));
        if (type->display_name)
            json_put_text(json, "display_name", catalog_text(catalog, type->display_name));
        put_args(json, catalog, &type->args);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_frames(struct json *json, const struct catalog *catalog,
                       const struct program *program)
{
    json_key(json, "stack_frames");
    json_open(json, '[');
    const struct stack_frame *frame;
    array_each (frame, &program->frames) {
        json_open_row(json, '{');
        json_put_text(json, "file", catalog_text(catalog, frame->file));
        json_put_text(json, "function", catalog_text(catalog, frame->function));
        json_put_uint(json, "line", frame->line);
        json_put_uint(json, "column", frame->column);
        if (frame->parent)
            json_put_uint(json, "parent", frame->parent - 1);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

/* Properties, costs and relations of operations. Unknown or false values are omitted. */
static void put_operation_details(struct json *json, const struct catalog *catalog,
                                  const struct program *program, const struct operation *op)
{
    const struct {
        const char *key;
        uint32_t text;
    } texts[] = {{"category", op->category},
                 {"shape", op->shape},
                 {"expression", op->expression},
                 {"compute_type", op->compute_type}};
    const struct {
        const char *key;
        double value;
    } costs[] = {
        {"flops", op->flops}, {"matrix_flops", op->matrix_flops}, {"xprof_flops", op->xprof_flops}};
    const struct {
        const char *key;
        int64_t value;
    } bytes[] = {{"bytes_accessed", op->bytes_accessed},
                 {"bytes_read", op->bytes_read},
                 {"bytes_written", op->bytes_written}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text)
            json_put_text(json, texts[i].key, catalog_text(catalog, texts[i].text));
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        if (!isnan(costs[i].value))
            json_put_double(json, costs[i].key, costs[i].value);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        if (bytes[i].value >= 0)
            json_put_int(json, bytes[i].key, bytes[i].value);
    json_put_uint(json, "schedule_index", op->schedule_index);
    if (op->is_fused) {
        json_key(json, "is_fused");
        json_bool(json, true);
    }
    if (op->operand_count > 0) {
        json_key(json, "operands");
        json_open(json, '[');
        for (uint32_t i = 0; i < op->operand_count; i++)
            json_uint(json, program->operands.items[op->first_operand + i]);
        json_close(json, ']');
    }
    if (op->callee_count > 0) {
        json_key(json, "callees");
        json_open(json, '[');
        for (uint32_t i = 0; i < op->callee_count; i++)
            json_text(json, catalog_text(catalog, program->callees.items[op->first_callee + i]));
        json_close(json, ']');
    }
}

/* Indexes of operations and frames are those of the catalog, as callers and events refer to them.
 * Missing details are omitted to keep modules of many operations small. */
static void put_programs(struct json *json, const struct catalog *catalog)
{
    json_key(json, "programs");
    json_open(json, '[');
    const struct program *program;
    array_each (program, &catalog->programs) {
        json_open(json, '{');
        json_put_text(json, "name", catalog_text(catalog, program->name));
        json_put_text(json, "label", catalog_text(catalog, program->label));
        json_put_uint(json, "program_id", program->id);
        json_put_text(json, "host",
                      catalog_text(catalog, catalog->hosts.items[program->host].name));
        put_frames(json, catalog, program);
        json_key(json, "operations");
        json_open(json, '[');
        const struct operation *op;
        array_each (op, &program->operations) {
            json_open_row(json, '{');
            json_put_text(json, "name", catalog_text(catalog, op->name));
            json_put_text(json, "opcode", catalog_text(catalog, op->opcode));
            json_put_text(json, "computation", catalog_text(catalog, op->computation));
            json_put_text(json, "op_name", catalog_text(catalog, op->op_name));
            json_put_text(json, "source_file", catalog_text(catalog, op->file));
            json_put_uint(json, "source_line", op->line);
            if (op->frame)
                json_put_uint(json, "stack_frame", op->frame - 1);
            put_operation_details(json, catalog, program, op);
            json_close_row(json, '}');
        }
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Device times are omitted for steps that have no work on a device: 0 would be a time. */
static void put_steps(struct json *json, const struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    json_key(json, "steps");
    json_open(json, '[');
    const struct step *step;
    array_each (step, &analysis->steps) {
        uint32_t type = analysis->trace.lanes[step->root.track].type[step->root.event];
        json_open_row(json, '{');
        json_put_text(json, "name", catalog_type_label(catalog, type));
        json_put_int(json, "number", step->number);
        json_put_uint(json, "track", step->root.track);
        json_put_uint(json, "event", step->root.event);
        json_put_int(json, "start_ps", step->start_ps);
        json_put_int(json, "duration_ps", step_duration(step));
        if (step->device_events > 0) {
            json_put_int(json, "device_start_ps", step->device_start_ps);
            json_put_int(json, "device_end_ps", step->device_end_ps);
            json_put_int(json, "device_ps", step->device_ps);
        }
        json_put_uint(json, "device_event_count", step->device_events);
        json_put_text(json, "origin", step_origin_name(analysis->step_origin));
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_row_event(struct json *json, const struct catalog *catalog,
                          const struct row_event *event)
{
    json_open_row(json, '{');
    json_put_text(json, "name", catalog_text(catalog, event->name));
    json_put_int(json, "start_ps", event->start_ps);
    json_put_int(json, "duration_ps", event->duration_ps);
    json_put_uint(json, "kernel_count", event->kernels);
    put_step(json, event->group);
    if (event->program != NO_INDEX) {
        const struct program *program = &catalog->programs.items[event->program];
        json_put_uint(json, "program_id", program->id);
        if (event->operation != NO_INDEX) {
            const struct operation *op = &program->operations.items[event->operation];
            json_put_text(json, "op_name", catalog_text(catalog, op->op_name));
            json_put_text(json, "source_file", catalog_text(catalog, op->file));
            json_put_uint(json, "source_line", op->line);
        }
    }
    json_close_row(json, '}');
}

static void put_rows(struct json *json, const struct analysis *analysis)
{
    json_key(json, "derived_rows");
    json_open(json, '[');
    const struct derived_row *row;
    array_each (row, &analysis->rows) {
        char name[64];
        size_t size = derived_row_name(analysis, row, name);
        json_open(json, '{');
        json_put_text(json, "name", (struct text){name, size});
        json_put_uint(json, "lane", row->lane);
        json_put_uint(json, "source", analysis->catalog->tracks.items[row->lane].parent);
        json_key(json, "events");
        json_open(json, '[');
        const struct row_event *event;
        array_each (event, &row->events)
            put_row_event(json, analysis->catalog, event);
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
}

static bool put_flow(void *context, const struct flow *flow)
{
    struct json *json = context;
    json_open_row(json, '{');
    json_put_text(json, "kind", flow->kind == FLOW_LAUNCH ? TEXT("launch") : TEXT("context"));
    json_put_uint(json, "id", flow->id);
    json_put_uint(json, "from_track", flow->from.track);
    json_put_uint(json, "from_event", flow->from.event);
    json_put_uint(json, "to_track", flow->to.track);
    json_put_uint(json, "to_event", flow->to.event);
    json_close_row(json, '}');
    return !json->out->failed;
}

struct usage {
    struct json *json;
    const struct catalog *catalog;
    bool is_recording;
};

static void put_sample_time(const struct usage *usage, const struct usage_sample *sample)
{
    int64_t start_ns = usage->catalog->start_epoch_ns;
    json_put_int(usage->json, "timestamp",
                 add_saturated(start_ns == TIME_UNSET ? 0 : start_ns, whole_ns(sample->time_ps)));
    json_put_int(usage->json, "duration", 1);
    json_put_text(usage->json, "instance_id", catalog_text(usage->catalog, sample->instance));
}

static bool put_memory(void *context, const struct usage_sample *sample)
{
    const struct usage *usage = context;
    json_open_row(usage->json, '{');
    put_sample_time(usage, sample);
    if (sample->value >= 0 && sample->value < 0x1p63)
        json_put_int(usage->json, "usage", (int64_t)sample->value);
    else
        json_put_double(usage->json, "usage", sample->value);
    json_key(usage->json, "percent_usage");
    if (isnan(sample->percent))
        json_null(usage->json);
    else
        json_double(usage->json, sample->percent);
    json_close_row(usage->json, '}');
    return !usage->json->out->failed;
}

/* Explorer's files have a mean over all cores; of Kymo's recordings it is a counter alone, as the
 * guides describe a list per core. */
static bool put_cpu(void *context, const struct usage_sample *sample)
{
    const struct usage *usage = context;
    if (usage->is_recording &&
        text_equal(catalog_text(usage->catalog, sample->name), TEXT("average")))
        return true;
    json_open_row(usage->json, '{');
    put_sample_time(usage, sample);
    json_put_text(usage->json, "cpu_id", catalog_text(usage->catalog, sample->name));
    json_put_double(usage->json, "util", sample->value);
    json_close_row(usage->json, '}');
    return !usage->json->out->failed;
}

static void put_devices(struct json *json, const struct json_options *options)
{
    json_key(json, "device_profile_list");
    json_open(json, '[');
    for (size_t i = 0; i < options->device_count; i++) {
        const struct json_device *device = &options->devices[i];
        char model[32];
        snprintf(model, sizeof model, "%llu", (unsigned long long)device->model);
        json_open_row(json, '{');
        json_put_text(json, "device_profile_name", text_of(device->name));
        json_put_text(json, "instance_id", text_of(device->instance));
        put_number_text(json, "process_id", device->process);
        json_put_int(json, "nc_id", device->core);
        put_number_text(json, "lnc_idx", device->logical_core);
        json_put_text(json, "model_id", text_of(model));
        json_put_text(json, "model_name", text_of(device->model_name));
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

/* The sections of system_profile.json other than events. */
static void put_system_profile(struct json *json, const struct analysis *analysis,
                               const struct json_options *options)
{
    const struct catalog *catalog = analysis->catalog;
    int64_t epoch_ns = catalog->start_epoch_ns == TIME_UNSET ? 0 : catalog->start_epoch_ns;
    int64_t first_ns = whole_ns(analysis->summary.first_ps);
    int64_t last_ns = whole_ns(analysis->summary.last_ps);
    json_key(json, "system_profile_metadata");
    json_open(json, '[');
    json_open_row(json, '{');
    put_number_text(json, "first_ts_ns", add_saturated(epoch_ns, first_ns));
    put_number_text(json, "last_ts_ns", add_saturated(epoch_ns, last_ns));
    json_put_int(json, "ntff_version", 0);
    json_close_row(json, '}');
    json_close(json, ']');
    put_devices(json, options);
    struct usage usage = {json, catalog, strcmp(catalog->format, "kymo-session") == 0};
    json_key(json, "mem_usage");
    json_open(json, '[');
    analysis_memory_usage(analysis, put_memory, &usage);
    json_close(json, ']');
    json_key(json, "cpu_util");
    json_open(json, '[');
    analysis_cpu_usage(analysis, put_cpu, &usage);
    json_close(json, ']');
}

/* The catalog comes first, so that a reader knows tracks and types when the events begin; only the
 * events are streamed. On failure the document is incomplete, and the caller discards it. */
bool export_json(const struct analysis *analysis, struct source *source, struct pool *pool,
                 const struct json_options *options, struct output *out, struct error *err)
{
    struct json json;
    json_begin(&json, out, options->is_pretty);
    json_open(&json, '{');
    put_profile_fields(&json, analysis);
    put_hosts(&json, analysis->catalog);
    put_messages(&json, analysis->catalog);
    put_tracks(&json, analysis);
    put_types(&json, analysis->catalog);
    put_programs(&json, analysis->catalog);
    put_steps(&json, analysis);
    put_system_profile(&json, analysis, options);
    if (!put_events(&json, analysis, source, pool, err))
        return false;
    put_rows(&json, analysis);
    json_key(&json, "flows");
    json_open(&json, '[');
    analysis_flows(analysis, put_flow, &json);
    json_close(&json, ']');
    json_close(&json, '}');
    return true;
}
