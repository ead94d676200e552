/*
 * Perfetto export: a native trace for ui.perfetto.dev and trace_processor. All packets belong to
 * one sequence and all strings of the catalog are interned up front, so workers encode events
 * concurrently without coordination. A slice is written as begin and end together: the reader sorts
 * packets by timestamp, stably, which is correct as long as the events of a track are sorted by
 * start, longer first.
 */
#include "export/device_work.h"
#include "export/groups.h"
#include "export/perfetto_device.h"
#include "export/perfetto_gpu.h"

#include "base/wire/wire.h"

/* Field numbers, by message. */
enum {
    TRACE_PACKET = 1,

    PACKET_CLOCKS = 6,
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,

    CLOCKS_CLOCK = 1,
    CLOCK_ID = 1,
    CLOCK_TIME = 2,

    INTERNED_CATEGORIES = 1,
    INTERNED_EVENTS = 2,
    INTERNED_KEYS = 3,
    INTERNED_TEXTS = 29,
    ENTRY_ID = 1,
    ENTRY_TEXT = 2,

    TRACK_UUID = 1,
    TRACK_TITLE = 2,
    TRACK_AS_PROCESS = 3,
    TRACK_PARENT = 5,
    TRACK_AS_COUNTER = 8,
    TRACK_CHILD_ORDER = 11,
    TRACK_RANK = 12,
    TRACK_MERGE = 15,
    TRACK_MERGE_KEY = 17,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,

    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_DOUBLE_VALUE = 44,
    EVENT_FLOW = 47,

    ANNOTATION_KEY = 1,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_TEXT = 6,
    ANNOTATION_JSON = 9,
    ANNOTATION_NAME = 10,
    ANNOTATION_INTERNED_TEXT = 17,
};

enum { FLAG_FIRST = 1, FLAG_USES_INTERNED = 2 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { BUILTIN_REALTIME = 1, BUILTIN_BOOTTIME = 6 };
enum { ORDER_EXPLICIT = 3, MERGE_BY_KEY = 3 };
enum { SEQUENCE = 1, MAX_INTERNED_BYTES = 256 << 10 };
enum { PARTS_TOGETHER = 8 };

/* The tracks of a lane. Events that overlap without nesting go to additional tracks of the same
 * name, which viewers merge. */
struct lane_tracks {
    uint64_t first; /* uuid; the others are consecutive */
    uint32_t count;
    uint8_t *of_event; /* NULL if there is only one track */
    /* The packets of unsorted lanes are buffered, then written in time order. */
    ARRAY(char) packets;
    uint64_t *starts, *ends; /* by event, offsets in packets; NULL for sorted lanes */
};

/* What events of Neuron's system profiles say of their place, as in the guides. */
enum place_key {
    PLACE_INSTANCE,
    PLACE_PROCESS,
    PLACE_THREAD,
    PLACE_CORE,
    PLACE_WORKER,
    PLACE_KEYS
};
static const char *const place_names[PLACE_KEYS] = {
    [PLACE_INSTANCE] = "instance_id", [PLACE_PROCESS] = "process_id", [PLACE_THREAD] = "thread_id",
    [PLACE_CORE] = "lnc_idx",         [PLACE_WORKER] = "worker_gid",
};

struct perfetto {
    struct sink sink;
    const struct analysis *analysis;
    const struct catalog *catalog;
    const struct perfetto_options *options;
    struct output *out;
    struct groups groups;
    struct lane_tracks *lanes; /* by track */
    struct location *locations;
    uint32_t place_keys[PLACE_KEYS]; /* strings, or INTERN_NONE */
    bool has_places;                 /* events say where they happened */
    int64_t epoch_ns;
    uint64_t next_uuid;
    device_flow_list device_flows;
    struct device_work_list device_work;
    struct output *buffers; /* one per worker */
    struct sequencer turn;
    pthread_mutex_t lock; /* guards the packets of unsorted lanes */
};

static uint64_t time_of(const struct perfetto *perfetto, int64_t time_ps)
{
    int64_t time = add_saturated(perfetto->epoch_ns, whole_ns(time_ps));
    return time > 0 ? (uint64_t)time : 0;
}

static size_t begin_packet(struct output *out, uint64_t flags)
{
    size_t packet = pb_begin(out, TRACE_PACKET);
    pb_put_varint(out, PACKET_SEQUENCE, SEQUENCE);
    if (flags)
        pb_put_varint(out, PACKET_FLAGS, flags);
    return packet;
}

static void put_clocks(struct perfetto *perfetto, struct output *out)
{
    static const uint64_t clocks[] = {BUILTIN_BOOTTIME, BUILTIN_REALTIME};
    size_t packet = begin_packet(out, FLAG_FIRST);
    size_t snapshot = pb_begin(out, PACKET_CLOCKS);
    for (size_t i = 0; i < 2; i++) {
        size_t clock = pb_begin(out, CLOCKS_CLOCK);
        pb_put_varint(out, CLOCK_ID, clocks[i]);
        pb_put_varint(out, CLOCK_TIME, time_of(perfetto, 0));
        pb_end(out, clock);
    }
    pb_end(out, snapshot);
    pb_end(out, packet);
}

static void put_entry(struct output *out, uint32_t field, uint64_t id, struct text text)
{
    size_t entry = pb_begin(out, field);
    pb_put_varint(out, ENTRY_ID, id);
    pb_put_text(out, ENTRY_TEXT, text);
    pb_end(out, entry);
}

/* Interned strings may be long: a packet is closed when it gets large. */
struct interning {
    struct output *out;
    size_t packet, data;
};

static void interning_begin(struct interning *interning, struct output *out)
{
    interning->out = out;
    interning->packet = begin_packet(out, FLAG_USES_INTERNED);
    interning->data = pb_begin(out, PACKET_INTERNED);
}

static void interning_end(struct interning *interning)
{
    pb_end(interning->out, interning->data);
    pb_end(interning->out, interning->packet);
}

static void intern_text_as(struct interning *interning, uint32_t field, uint64_t id,
                           struct text text)
{
    if (interning->out->size - interning->data > MAX_INTERNED_BYTES) {
        interning_end(interning);
        interning_begin(interning, interning->out);
    }
    put_entry(interning->out, field, id, text);
}

/* Keys of places, and keys and texts of device profiles, which have no places, are numbered after
 * the catalog's strings. */
static uint64_t added_string_id(const struct perfetto *perfetto, uint64_t number)
{
    return perfetto->catalog->strings.by_id.count + number + 1;
}

static void put_device_strings(const struct perfetto *perfetto, struct interning *interning)
{
    const struct intern *texts = &perfetto->device_work.texts;
    for (unsigned key = 0; key < DEVICE_KEYS; key++)
        intern_text_as(interning, INTERNED_KEYS, added_string_id(perfetto, key),
                       text_of(device_key_name((enum device_key)key)));
    for (uint32_t i = 0; i < texts->by_id.count; i++)
        intern_text_as(interning, INTERNED_TEXTS, added_string_id(perfetto, i),
                       intern_text(texts, i));
}

/* The id of an interned string is its number plus one: 0 means none. */
static void put_interned(struct perfetto *perfetto, struct output *out)
{
    const struct catalog *catalog = perfetto->catalog;
    struct interning interning;
    interning_begin(&interning, out);
    for (enum layer layer = LAYER_OTHER; layer <= LAYER_DEVICE; layer++)
        intern_text_as(&interning, INTERNED_CATEGORIES, layer + 1u, layer_name(layer));
    for (uint32_t i = 0; i < catalog->strings.by_id.count; i++) {
        struct text text = catalog_text(catalog, i);
        intern_text_as(&interning, INTERNED_EVENTS, i + 1u, text);
        intern_text_as(&interning, INTERNED_KEYS, i + 1u, text);
        intern_text_as(&interning, INTERNED_TEXTS, i + 1u, text);
    }
    if (perfetto->options->devices)
        put_device_strings(perfetto, &interning);
    for (unsigned key = 0; perfetto->has_places && key < PLACE_KEYS; key++)
        intern_text_as(&interning, INTERNED_KEYS, added_string_id(perfetto, key),
                       text_of(place_names[key]));
    if (perfetto->options->has_gpu_stages)
        gpu_put_specifications(out, catalog, perfetto->locations);
    interning_end(&interning);
}

enum track_kind { TRACK_OF_GROUP, TRACK_COUNTER, TRACK_DERIVED };

static void put_process(struct output *out, uint64_t uuid, const char *name)
{
    size_t packet = begin_packet(out, 0);
    size_t track = pb_begin(out, PACKET_TRACK);
    pb_put_varint(out, TRACK_UUID, uuid);
    size_t process = pb_begin(out, TRACK_AS_PROCESS);
    pb_put_varint(out, PROCESS_PID, uuid);
    pb_put_text(out, PROCESS_NAME, text_of(name));
    pb_end(out, process);
    pb_put_varint(out, TRACK_CHILD_ORDER, ORDER_EXPLICIT);
    pb_end(out, track);
    pb_end(out, packet);
}

/* A viewer shows tracks of one parent and one merge key in one row; by default, those of one name.
 * Threads may have the same name. */
static void put_track(struct output *out, uint64_t uuid, uint64_t parent, struct text name,
                      uint64_t rank, enum track_kind kind)
{
    size_t packet = begin_packet(out, 0);
    size_t track = pb_begin(out, PACKET_TRACK);
    pb_put_varint(out, TRACK_UUID, uuid);
    pb_put_varint(out, TRACK_PARENT, parent);
    pb_put_text(out, TRACK_TITLE, name);
    pb_put_varint(out, TRACK_RANK, rank);
    if (kind == TRACK_COUNTER)
        pb_end(out, pb_begin(out, TRACK_AS_COUNTER));
    if (kind == TRACK_OF_GROUP) {
        pb_put_varint(out, TRACK_MERGE, MERGE_BY_KEY);
        pb_put_varint(out, TRACK_MERGE_KEY, rank);
    }
    pb_end(out, track);
    pb_end(out, packet);
}

static uint64_t process_of(const struct perfetto *perfetto, uint32_t lane)
{
    uint32_t group = perfetto->groups.of_lane[lane];
    return perfetto->groups.secondary.items[group].parent + (uint64_t)1;
}

/* Whether the lane's events are GPU packets instead of events of a track. */
static bool is_gpu_lane(const struct perfetto *perfetto, uint32_t lane)
{
    return perfetto->options->has_gpu_stages &&
           gpu_has_lane(perfetto->catalog, perfetto->locations, lane);
}

/* Tracks that are not lanes have no group; without lanes there are no groups at all. */
static void put_lane_tracks(struct perfetto *perfetto, struct output *out, uint32_t lane)
{
    if (perfetto->lanes[lane].count == 0 || is_gpu_lane(perfetto, lane))
        return;
    const struct group *group = &perfetto->groups.secondary.items[perfetto->groups.of_lane[lane]];
    bool is_counter = perfetto->catalog->tracks.items[lane].lane == LANE_COUNTER;
    struct text name =
        is_counter ? catalog_track_label(perfetto->catalog, lane) : text_of(group->label);
    for (uint32_t i = 0; i < perfetto->lanes[lane].count; i++)
        put_track(out, perfetto->lanes[lane].first + i, process_of(perfetto, lane), name,
                  perfetto->groups.of_lane[lane], is_counter ? TRACK_COUNTER : TRACK_OF_GROUP);
}

/* End times of the open events of one track, innermost last. */
typedef ARRAY(int64_t) end_stack;

enum { MAX_TRACKS = 255 };

/* The first track on which the event nests in the events open there. */
static uint32_t assign_track(end_stack *stacks, uint32_t *count, int64_t start, int64_t end)
{
    for (uint32_t i = 0; i < *count; i++) {
        end_stack *stack = &stacks[i];
        while (stack->count > 0 && stack->items[stack->count - 1] <= start)
            stack->count--;
        if (stack->count == 0 || stack->items[stack->count - 1] >= end || i + 1 == MAX_TRACKS) {
            *array_push(stack) = end;
            return i;
        }
    }
    *array_push(&stacks[*count]) = end;
    return (*count)++;
}

/* Runs in parallel over lanes, before any event is written. Most lanes need one track; the
 * assignment is kept only for the others, a byte per event. */
static void plan_lane(struct perfetto *perfetto, uint32_t track)
{
    const struct lane_events *events = &perfetto->analysis->trace.lanes[track];
    const uint64_t *order = perfetto->analysis->lanes[track].order;
    struct lane_tracks *lane = &perfetto->lanes[track];
    end_stack *stacks = mem_zeroed(MAX_TRACKS + 1, sizeof *stacks);
    uint8_t *of_event = mem_zeroed(events->count, sizeof *of_event);
    lane->count = 1;
    for (uint64_t i = 0; i < events->count; i++) {
        uint64_t event = order ? order[i] : i;
        if (!event_is_timed(events, event) || event_end(events, event) == events->start_ps[event])
            continue;
        of_event[event] = (uint8_t)assign_track(stacks, &lane->count, events->start_ps[event],
                                                event_end(events, event));
    }
    for (size_t i = 0; i <= MAX_TRACKS; i++)
        array_free(&stacks[i]);
    mem_free(stacks);
    if (lane->count > 1)
        lane->of_event = of_event;
    else
        mem_free(of_event);
    if (order) {
        lane->starts = mem_zeroed(events->count, sizeof *lane->starts);
        lane->ends = mem_zeroed(events->count, sizeof *lane->ends);
    }
}

static bool plan_task(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct perfetto *perfetto = context;
    const struct track *track = &perfetto->catalog->tracks.items[index];
    if (track->level == TRACK_LANE && track->events > 0 && track->lane != LANE_COUNTER)
        plan_lane(perfetto, (uint32_t)index);
    else if (track->level == TRACK_LANE && track->events > 0)
        perfetto->lanes[index].count = 1;
    return true;
}

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
        pb_put_varint(out, ANNOTATION_KEY, added_string_id(perfetto, key));
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
        pb_put_varint(out, ANNOTATION_KEY, added_string_id(perfetto, values[i].key));
        if (values[i].key == KEY_OPERANDS)
            pb_put_varint(out, ANNOTATION_INTERNED_TEXT,
                          added_string_id(perfetto, values[i].value));
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
    struct open_event end = open_event(out, time_of(perfetto, time_ps), TYPE_END, track);
    close_event(out, &end);
}

/* A GPU's work, or a counter's sample. */
static void put_gpu_event(const struct perfetto *perfetto, struct output *out,
                          const struct batch *batch, uint32_t event)
{
    const struct lane_analysis *analyzed = &perfetto->analysis->lanes[batch->track];
    uint64_t number = batch->first + event;
    bool is_timed = !batch->has_occurrences || batch->occurrences[event] == OCCURRENCES_TIMED;
    int64_t start = is_timed ? batch->start_ps[event] : 0;
    int64_t end = is_timed ? add_saturated(start, batch->duration_ps[event]) : start;
    uint64_t time = time_of(perfetto, start);
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
        .duration_ns = time_of(perfetto, end) - time,
        .name = type->display_name ? type->display_name : type->name,
        .args = batch_args(batch, event),
        .step = analyzed->group ? analyzed->group[number] - (int64_t)1 : -1};
    struct open_event open = open_packet(out, time, PACKET_GPU_STAGE);
    gpu_put_stage(out, perfetto->catalog, perfetto->locations, &stage);
    close_event(out, &open);
}

static void put_sample(const struct perfetto *perfetto, struct output *out,
                       const struct batch *batch, uint32_t event)
{
    struct open_event sample = open_event(out, time_of(perfetto, batch->start_ps[event]),
                                          TYPE_COUNTER, perfetto->lanes[batch->track].first);
    pb_put_double(out, EVENT_DOUBLE_VALUE, batch->value[event]);
    close_event(out, &sample);
}

/* Called by several workers: it reads shared tables only. Begin and end are written together, which
 * is correct only for events in time order; see buffer_packets for the others. */
static void put_event(const struct perfetto *perfetto, struct output *out,
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
    struct open_event open =
        open_event(out, time_of(perfetto, start), is_slice ? TYPE_BEGIN : TYPE_INSTANT, track);
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

/* Buffers the packets of a batch of an unsorted lane. */
static void buffer_packets(struct perfetto *perfetto, const struct batch *batch,
                           struct output *buffer, uint64_t *ends)
{
    struct lane_tracks *lane = &perfetto->lanes[batch->track];
    pthread_mutex_lock(&perfetto->lock);
    uint64_t base = lane->packets.count;
    array_reserve(&lane->packets, base + buffer->size);
    memcpy(lane->packets.items + base, buffer->data, buffer->size);
    lane->packets.count += buffer->size;
    pthread_mutex_unlock(&perfetto->lock);
    for (uint32_t i = 0; i < batch->count; i++) {
        lane->starts[batch->first + i] = base + (i ? ends[i - 1] : 0);
        lane->ends[batch->first + i] = base + ends[i];
    }
}

static bool write_packets(struct perfetto *perfetto, const char *data, size_t size,
                          struct error *err)
{
    output_write(perfetto->out, data, size);
    if (perfetto->out->failed)
        *err = perfetto->out->error;
    return !perfetto->out->failed;
}

/* Encoding is concurrent, writing in the order of the source. Lanes that are not in time order are
 * set aside instead, to be written at the end. */
static bool take_batch(struct sink *base, const struct batch *batch, unsigned worker,
                       struct error *err)
{
    struct perfetto *perfetto = (struct perfetto *)base;
    struct output *buffer = &perfetto->buffers[worker], own, *out = buffer;
    uint64_t ends[BATCH_EVENTS];
    bool waits = perfetto->lanes[batch->track].starts != NULL;
    if (waits)
        output_memory(out = &own);
    bool is_gpu = is_gpu_lane(perfetto, batch->track);
    for (uint32_t event = 0; event < batch->count; event++) {
        if (is_gpu)
            put_gpu_event(perfetto, out, batch, event);
        else if (batch->has_values)
            put_sample(perfetto, out, batch, event);
        else
            put_event(perfetto, out, batch, event);
        ends[event] = out->size;
    }
    if (waits) {
        buffer_packets(perfetto, batch, out, ends);
        output_discard(&own);
    }
    if (!batch->last)
        return true;
    if (!sequencer_wait(&perfetto->turn, batch->sequence))
        return error_set(err, "%s", ""); /* another part failed and reports why */
    bool ok = write_packets(perfetto, buffer->data, buffer->size, err);
    buffer->size = 0;
    sequencer_pass(&perfetto->turn);
    return ok;
}

static void cancel(struct sink *base)
{
    sequencer_cancel(&((struct perfetto *)base)->turn);
}

/* Writes the buffered packets of unsorted lanes in time order. */
static bool write_unsorted(struct perfetto *perfetto, struct error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < perfetto->catalog->tracks.count; i++) {
        struct lane_tracks *lane = &perfetto->lanes[i];
        const uint64_t *order = perfetto->analysis->lanes[i].order;
        uint64_t count = perfetto->catalog->tracks.items[i].events;
        for (uint64_t k = 0; ok && lane->starts && k < count; k++)
            ok = write_packets(perfetto, lane->packets.items + lane->starts[order[k]],
                               lane->ends[order[k]] - lane->starts[order[k]], err);
        array_free(&lane->packets);
    }
    return ok;
}

/* Derived rows have names of the catalog, so their strings were interned with the others. */
static void put_run(const struct perfetto *perfetto, struct output *out, uint64_t track,
                    const struct row_event *run)
{
    const struct catalog *catalog = perfetto->catalog;
    struct open_event open = open_event(out, time_of(perfetto, run->start_ps), TYPE_BEGIN, track);
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

/* Derived rows of modules and operations. */
static bool write_runs(struct perfetto *perfetto, struct error *err)
{
    const struct analysis *analysis = perfetto->analysis;
    struct output *out = &perfetto->buffers[0];
    bool ok = true;
    for (size_t i = 0; ok && i < analysis->rows.count; i++) {
        const struct derived_row *row = &analysis->rows.items[i];
        end_stack *stacks = mem_zeroed(MAX_TRACKS + 1, sizeof *stacks);
        uint64_t first = perfetto->next_uuid;
        uint32_t count = 0;
        char name[64];
        size_t size = derived_row_name(analysis, row, name);
        for (size_t k = 0; ok && k < row->events.count; k++) {
            const struct row_event *run = &row->events.items[k];
            uint32_t before = count;
            uint32_t track = assign_track(stacks, &count, run->start_ps,
                                          add_saturated(run->start_ps, run->duration_ps));
            if (count > before)
                put_track(out, first + track, process_of(perfetto, row->lane),
                          (struct text){name, size}, perfetto->groups.of_lane[row->lane],
                          TRACK_DERIVED);
            put_run(perfetto, out, first + track, run);
            if (out->size > MAX_INTERNED_BYTES || k + 1 == row->events.count) {
                ok = write_packets(perfetto, out->data, out->size, err);
                out->size = 0;
            }
        }
        perfetto->next_uuid += count;
        for (size_t k = 0; k <= MAX_TRACKS; k++)
            array_free(&stacks[k]);
        mem_free(stacks);
    }
    return ok;
}

static void put_gpu_counters(const struct perfetto *perfetto, struct output *out)
{
    struct output counters;
    output_memory(&counters);
    if (gpu_put_counters(&counters, perfetto->catalog, perfetto->locations)) {
        struct open_event open = open_packet(out, time_of(perfetto, 0), PACKET_GPU_COUNTERS);
        output_write(out, counters.data, counters.size);
        close_event(out, &open);
    }
    output_discard(&counters);
}

/* Everything events refer to: clocks, interned strings, processes, tracks. */
static bool write_preamble(struct perfetto *perfetto, struct error *err)
{
    struct output *out = &perfetto->buffers[0];
    put_clocks(perfetto, out);
    put_interned(perfetto, out);
    for (size_t i = 0; i < perfetto->groups.primary.count; i++)
        put_process(out, i + 1, perfetto->groups.primary.items[i].label);
    perfetto->next_uuid = perfetto->groups.primary.count + 1;
    for (uint32_t i = 0; i < perfetto->catalog->tracks.count; i++) {
        perfetto->lanes[i].first = perfetto->next_uuid;
        perfetto->next_uuid += perfetto->lanes[i].count;
        put_lane_tracks(perfetto, out, i);
    }
    if (perfetto->options->has_gpu_stages)
        put_gpu_counters(perfetto, out);
    bool ok = write_packets(perfetto, out->data, out->size, err);
    out->size = 0;
    return ok;
}

static void release(struct perfetto *perfetto, unsigned workers)
{
    for (unsigned i = 0; i < workers; i++)
        output_discard(&perfetto->buffers[i]);
    for (size_t i = 0; i < perfetto->catalog->tracks.count; i++) {
        mem_free(perfetto->lanes[i].of_event);
        mem_free(perfetto->lanes[i].starts);
        mem_free(perfetto->lanes[i].ends);
        array_free(&perfetto->lanes[i].packets);
    }
    mem_free(perfetto->buffers);
    mem_free(perfetto->lanes);
    mem_free(perfetto->locations);
    groups_free(&perfetto->groups);
    sequencer_destroy(&perfetto->turn);
    pthread_mutex_destroy(&perfetto->lock);
}

/* Only system profiles of Neuron: others would grow by half, and their tracks say the same. */
static void find_places(struct perfetto *perfetto)
{
    const struct catalog *catalog = perfetto->catalog;
    for (size_t i = 0; i < catalog->tracks.count && !perfetto->options->devices; i++) {
        enum layer layer = perfetto->locations[i].layer;
        perfetto->has_places |= catalog->tracks.items[i].level == TRACK_LANE &&
                                (layer == LAYER_RUNTIME || layer == LAYER_NEURON);
    }
    for (unsigned key = 0; key < PLACE_KEYS; key++)
        perfetto->place_keys[key] = intern_find(&catalog->strings, text_of(place_names[key]));
}

/* The preamble must come first, as events refer to its strings and tracks. Everything it allocates
 * is released here, also on failure. */
bool export_perfetto(const struct analysis *analysis, struct source *source, struct pool *pool,
                     const struct perfetto_options *options, struct output *out, struct error *err)
{
    const struct catalog *catalog = analysis->catalog;
    unsigned workers = pool_workers(pool);
    struct perfetto perfetto = {
        .sink = {.batch = take_batch, .cancel = cancel, .together = PARTS_TOGETHER},
        .analysis = analysis,
        .catalog = catalog,
        .options = options,
        .out = out,
        .epoch_ns = catalog->start_epoch_ns == TIME_UNSET ? 0 : catalog->start_epoch_ns,
    };
    perfetto.lanes = mem_zeroed(catalog->tracks.count, sizeof *perfetto.lanes);
    perfetto.locations = locations_of(catalog);
    perfetto.buffers = mem_alloc(workers * sizeof *perfetto.buffers);
    for (unsigned i = 0; i < workers; i++)
        output_memory(&perfetto.buffers[i]);
    find_places(&perfetto);
    groups_make(&perfetto.groups, catalog, &options->primary, &options->secondary);
    sequencer_init(&perfetto.turn);
    pthread_mutex_init(&perfetto.lock, NULL);
    pool_run(pool, catalog->tracks.count, plan_task, &perfetto);
    if (options->devices)
        device_work_find(&perfetto.device_work, options->devices, catalog->tracks.count);
    if (options->has_flows && options->devices)
        device_flows_find(&perfetto.device_flows, options->devices);
    bool ok = write_preamble(&perfetto, err) && source_read(source, &perfetto.sink, pool, err) &&
              write_unsorted(&perfetto, err) && write_runs(&perfetto, err);
    array_free(&perfetto.device_flows);
    device_work_free(&perfetto.device_work);
    release(&perfetto, workers);
    return ok;
}
