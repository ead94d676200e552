/*
 * Events of a Perfetto trace: slices, instants, samples and the work of GPUs.
 */
#include "export/perfetto/gpu.h"
#include "export/perfetto/packets.h"

/* Interned strings have the ids of the catalog plus one; values without a native type become
 * JSON. */
static void put_annotation_value(struct output *out, const struct catalog *catalog,
                                 const struct arg *arg)
{
    switch ((enum arg_type)arg->type) {
    case ARG_INT:
        pb_put_varint(out, ANNOTATION_INT, arg->uinteger);
        break;
    case ARG_UINT:
        pb_put_varint(out, ANNOTATION_UINT, arg->uinteger);
        break;
    case ARG_DOUBLE:
        pb_put_double(out, ANNOTATION_DOUBLE, arg->number);
        break;
    case ARG_STRING:
        pb_put_varint(out, ANNOTATION_INTERNED_TEXT, arg->string + (uint64_t)1);
        break;
    case ARG_TEXT:
        pb_put_text(out, ANNOTATION_TEXT, arg_text(catalog, arg));
        break;
    default: { /* bytes, and values without a native type */
        struct output text;
        struct json json;
        output_memory(&text);
        json_begin(&json, &text, false);
        arg_to_json(&json, catalog, arg);
        pb_put_bytes(out, ANNOTATION_JSON, text.data, text.size);
        output_discard(&text);
        break;
    }
    }
}

static void put_annotation(struct output *out, const struct catalog *catalog, const struct arg *arg)
{
    size_t annotation = pb_begin(out, EVENT_ANNOTATION);
    pb_put_varint(out, ANNOTATION_KEY, arg->key + (uint64_t)1);
    if (arg->type != ARG_NONE)
        put_annotation_value(out, catalog, arg);
    pb_end(out, annotation);
}

static void put_number(struct output *out, const char *key, int64_t value)
{
    size_t annotation = pb_begin(out, EVENT_ANNOTATION);
    pb_put_text(out, ANNOTATION_NAME, text_of(key));
    pb_put_varint(out, ANNOTATION_INT, (uint64_t)value);
    pb_end(out, annotation);
}

static bool has_key(const struct arg_list *args, uint32_t key)
{
    for (uint32_t i = 0; i < args->count; i++)
        if (args->items[i].key == key)
            return true;
    return false;
}

/* Where the event happened, unless its own args say so. */
static void put_place(const struct perfetto *perfetto, struct output *out, uint32_t track,
                      const struct arg_list *args)
{
    const struct location *location = &perfetto->locations[track];
    const int64_t values[PLACE_KEYS] = {[PLACE_INSTANCE] = (int64_t)location->instance + 1,
                                        [PLACE_PROCESS] = location->process,
                                        [PLACE_THREAD] = location->thread,
                                        [PLACE_CORE] = location->core,
                                        [PLACE_WORKER] = location->worker};
    unsigned count = location->has_core ? PLACE_KEYS : PLACE_CORE;
    for (unsigned key = 0; key < count; key++) {
        if (has_key(args, perfetto->place_keys[key]))
            continue;
        size_t annotation = pb_begin(out, EVENT_ANNOTATION);
        pb_put_varint(out, ANNOTATION_KEY, perfetto_added_string(perfetto, key));
        pb_put_varint(out, key == PLACE_INSTANCE ? ANNOTATION_INTERNED_TEXT : ANNOTATION_INT,
                      (uint64_t)values[key]);
        pb_end(out, annotation);
    }
}

static void put_device_work(const struct perfetto *perfetto, struct output *out, uint32_t track,
                            uint64_t event)
{
    struct device_value values[DEVICE_KEYS];
    size_t count = device_work_values(&perfetto->device_work, track, event, values);
    for (size_t i = 0; i < count; i++) {
        size_t annotation = pb_begin(out, EVENT_ANNOTATION);
        pb_put_varint(out, ANNOTATION_KEY, perfetto_added_string(perfetto, values[i].key));
        if (values[i].key == KEY_OPERANDS)
            pb_put_varint(out, ANNOTATION_INTERNED_TEXT,
                          perfetto_added_string(perfetto, values[i].value));
        else
            pb_put_varint(out, ANNOTATION_INT, values[i].value);
        pb_end(out, annotation);
    }
}

/* The id of a flow is a hash of the link, equal at both ends. */
static void put_flow(struct output *out, uint64_t process, int64_t type, int64_t id)
{
    uint64_t identity[3] = {process, (uint64_t)type, (uint64_t)id};
    uint64_t number = hash_content(identity, sizeof identity, 0);
    pb_put_fixed64(out, EVENT_FLOW, number ? number : 1);
}

enum { LAUNCHES = -1, DEPENDENCIES = -2 }; /* never the type of a context: those are not negative */

static void put_flows(const struct perfetto *perfetto, struct output *out, uint32_t track,
                      uint64_t event)
{
    const struct analysis *analysis = perfetto->analysis;
    uint32_t process = perfetto->locations[track].process_track;
    const uint64_t *correlations = analysis->lanes[track].correlation;
    const device_flow_list *flows = &perfetto->device_flows;
    for (size_t i = device_flows_first(flows, track, event);
         i < flows->count && flows->items[i].track == track && flows->items[i].event == event; i++)
        put_flow(out, 0, DEPENDENCIES, (int64_t)flows->items[i].id);
    if (correlations && correlations[event])
        put_flow(out, process, LAUNCHES, (int64_t)correlations[event]);
    for (size_t i = first_mark(analysis, track, event); i < analysis->marks.count; i++) {
        const struct mark *mark = &analysis->marks.items[i];
        if (mark->ref.track != track || mark->ref.event != event)
            break;
        if (mark->kind == MARK_LAUNCH)
            put_flow(out, process, LAUNCHES, mark->id);
        else if (mark->kind == MARK_PRODUCER || mark->kind == MARK_CONSUMER)
            put_flow(out, process, mark->type, mark->id);
    }
}

/* The packet around an event; its fields follow. */
struct open_event {
    size_t packet, event;
};

static struct open_event open_packet(struct output *out, uint64_t time, uint32_t field)
{
    struct open_event open;
    open.packet = pb_begin(out, TRACE_PACKET);
    pb_put_varint(out, PACKET_TIME, time);
    pb_put_varint(out, PACKET_SEQUENCE, SEQUENCE);
    pb_put_varint(out, PACKET_FLAGS, FLAG_USES_INTERNED);
    open.event = pb_begin(out, field);
    return open;
}

static struct open_event open_event(struct output *out, uint64_t time, int type, uint64_t track)
{
    struct open_event open = open_packet(out, time, PACKET_EVENT);
    pb_put_varint(out, EVENT_TYPE, (uint64_t)type);
    pb_put_varint(out, EVENT_TRACK, track);
    return open;
}

static void close_event(struct output *out, const struct open_event *open)
{
    pb_end(out, open->event);
    pb_end(out, open->packet);
}

static void put_end(const struct perfetto *perfetto, struct output *out, int64_t time_ps,
                    uint64_t track)
{
    struct open_event end = open_event(out, perfetto_time(perfetto, time_ps), TYPE_END, track);
    close_event(out, &end);
}

/* A GPU's work, or a counter's sample. */
void perfetto_put_gpu_event(const struct perfetto *perfetto, struct output *out,
                            const struct batch *batch, uint32_t event)
{
    const struct lane_analysis *analyzed = &perfetto->analysis->lanes[batch->track];
    uint64_t number = batch->first + event;
    bool is_timed = !batch->has_occurrences || batch->occurrences[event] == OCCURRENCES_TIMED;
    int64_t start = is_timed ? batch->start_ps[event] : 0;
    int64_t end = is_timed ? add_saturated(start, batch->duration_ps[event]) : start;
    uint64_t time = perfetto_time(perfetto, start);
    if (batch->has_values) {
        struct open_event sample = open_packet(out, time, PACKET_GPU_COUNTERS);
        gpu_put_sample(out, perfetto->locations, batch->track, batch->value[event]);
        close_event(out, &sample);
        return;
    }
    const struct event_type *type = &perfetto->catalog->types.items[batch->type[event]];
    struct gpu_stage stage = {
        .lane = batch->track,
        .id = lane_first(&perfetto->analysis->trace, batch->track) + number + 1,
        .correlation = analyzed->correlation ? analyzed->correlation[number] : 0,
        .duration_ns = perfetto_time(perfetto, end) - time,
        .name = type->display_name ? type->display_name : type->name,
        .args = batch_args(batch, event),
        .step = analyzed->group ? analyzed->group[number] - (int64_t)1 : -1};
    struct open_event open = open_packet(out, time, PACKET_GPU_STAGE);
    gpu_put_stage(out, perfetto->catalog, perfetto->locations, &stage);
    close_event(out, &open);
}

void perfetto_put_sample(const struct perfetto *perfetto, struct output *out,
                         const struct batch *batch, uint32_t event)
{
    struct open_event sample = open_event(out, perfetto_time(perfetto, batch->start_ps[event]),
                                          TYPE_COUNTER, perfetto->lanes[batch->track].first);
    pb_put_double(out, EVENT_DOUBLE_VALUE, batch->value[event]);
    close_event(out, &sample);
}

/* Called by several workers: it reads shared tables only. Begin and end are written together, which
 * is correct only for events in time order; see buffer_packets for the others. */
void perfetto_put_event(const struct perfetto *perfetto, struct output *out,
                        const struct batch *batch, uint32_t event)
{
    const struct catalog *catalog = perfetto->catalog;
    const struct lane_tracks *lane = &perfetto->lanes[batch->track];
    const struct lane_analysis *analyzed = &perfetto->analysis->lanes[batch->track];
    uint64_t number = batch->first + event;
    uint64_t track = lane->first + (lane->of_event ? lane->of_event[number] : 0);
    bool is_timed = !batch->has_occurrences || batch->occurrences[event] == OCCURRENCES_TIMED;
    bool is_slice = is_timed && batch->duration_ps[event] > 0;
    int64_t start = is_timed ? batch->start_ps[event] : 0;
    struct open_event open = open_event(out, perfetto_time(perfetto, start),
                                        is_slice ? TYPE_BEGIN : TYPE_INSTANT, track);
    const struct event_type *type = &catalog->types.items[batch->type[event]];
    uint32_t name = type->display_name ? type->display_name : type->name;
    pb_put_varint(out, EVENT_CATEGORY, perfetto->locations[batch->track].layer + (uint64_t)1);
    pb_put_varint(out, EVENT_NAME, name + (uint64_t)1);
    struct arg_list args = batch_args(batch, event);
    for (uint32_t i = 0; i < args.count; i++)
        put_annotation(out, catalog, &args.items[i]);
    if (perfetto->has_places)
        put_place(perfetto, out, batch->track, &args);
    for (uint32_t i = 0; perfetto->options->devices && i < type->args.count; i++)
        put_annotation(out, catalog, &type->args.items[i]);
    put_device_work(perfetto, out, batch->track, number);
    if (!is_timed) {
        put_number(out, "num_occurrences", batch->occurrences[event]);
        put_number(out, "duration_ps", batch->duration_ps[event]);
    }
    if (analyzed->group && analyzed->group[number])
        put_number(out, "step", analyzed->group[number] - (int64_t)1);
    if (perfetto->options->has_flows)
        put_flows(perfetto, out, batch->track, number);
    close_event(out, &open);
    if (is_slice)
        put_end(perfetto, out, add_saturated(start, batch->duration_ps[event]), track);
}

/* Derived rows have names of the catalog, so their strings were interned with the others. */
void perfetto_put_run(const struct perfetto *perfetto, struct output *out, uint64_t track,
                      const struct row_event *run)
{
    const struct catalog *catalog = perfetto->catalog;
    struct open_event open =
        open_event(out, perfetto_time(perfetto, run->start_ps), TYPE_BEGIN, track);
    pb_put_varint(out, EVENT_NAME, run->name + (uint64_t)1);
    put_number(out, "kernel_count", run->kernels);
    if (run->group)
        put_number(out, "step", run->group - (int64_t)1);
    if (run->program != NO_INDEX && run->operation != NO_INDEX) {
        const struct operation *op =
            &catalog->programs.items[run->program].operations.items[run->operation];
        size_t annotation = pb_begin(out, EVENT_ANNOTATION);
        pb_put_text(out, ANNOTATION_NAME, TEXT("op_name"));
        pb_put_varint(out, ANNOTATION_INTERNED_TEXT, op->op_name + (uint64_t)1);
        pb_end(out, annotation);
        annotation = pb_begin(out, EVENT_ANNOTATION);
        pb_put_text(out, ANNOTATION_NAME, TEXT("source_file"));
        pb_put_varint(out, ANNOTATION_INTERNED_TEXT, op->file + (uint64_t)1);
        pb_end(out, annotation);
        put_number(out, "source_line", op->line);
    }
    close_event(out, &open);
    put_end(perfetto, out, add_saturated(run->start_ps, run->duration_ps), track);
}

void perfetto_put_gpu_counters(const struct perfetto *perfetto, struct output *out)
{
    struct output counters;
    output_memory(&counters);
    if (gpu_put_counters(&counters, perfetto->catalog, perfetto->locations)) {
        struct open_event open = open_packet(out, perfetto_time(perfetto, 0), PACKET_GPU_COUNTERS);
        output_write(out, counters.data, counters.size);
        close_event(out, &open);
    }
    output_discard(&counters);
}
