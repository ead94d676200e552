/*
 * What the events of a Perfetto trace refer to: clocks, interned strings, processes and tracks.
 */
#include "export/perfetto/gpu.h"
#include "export/perfetto/packets.h"

static const char *const place_names[PLACE_KEYS] = {
    [PLACE_INSTANCE] = "instance_id", [PLACE_PROCESS] = "process_id", [PLACE_THREAD] = "thread_id",
    [PLACE_CORE] = "lnc_idx",         [PLACE_WORKER] = "worker_gid",
};

/* Only system profiles of Neuron: others would grow by half, and their tracks say the same. */
void perfetto_find_places(struct perfetto *perfetto)
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

uint64_t perfetto_time(const struct perfetto *perfetto, int64_t time_ps)
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

void perfetto_put_clocks(struct perfetto *perfetto, struct output *out)
{
    static const uint64_t clocks[] = {BUILTIN_BOOTTIME, BUILTIN_REALTIME};
    size_t packet = begin_packet(out, FLAG_FIRST);
    size_t snapshot = pb_begin(out, PACKET_CLOCKS);
    for (size_t i = 0; i < 2; i++) {
        size_t clock = pb_begin(out, CLOCKS_CLOCK);
        pb_put_varint(out, CLOCK_ID, clocks[i]);
        pb_put_varint(out, CLOCK_TIME, perfetto_time(perfetto, 0));
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
uint64_t perfetto_added_string(const struct perfetto *perfetto, uint64_t number)
{
    return perfetto->catalog->strings.by_id.count + number + 1;
}

static void put_device_strings(const struct perfetto *perfetto, struct interning *interning)
{
    const struct intern *texts = &perfetto->device_work.texts;
    for (unsigned key = 0; key < DEVICE_KEYS; key++)
        intern_text_as(interning, INTERNED_KEYS, perfetto_added_string(perfetto, key),
                       text_of(device_key_name((enum device_key)key)));
    for (uint32_t i = 0; i < texts->by_id.count; i++)
        intern_text_as(interning, INTERNED_TEXTS, perfetto_added_string(perfetto, i),
                       intern_text(texts, i));
}

/* The id of an interned string is its number plus one: 0 means none. */
void perfetto_put_strings(struct perfetto *perfetto, struct output *out)
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
        intern_text_as(&interning, INTERNED_KEYS, perfetto_added_string(perfetto, key),
                       text_of(place_names[key]));
    if (perfetto->options->has_gpu_stages)
        gpu_put_specifications(out, catalog, perfetto->locations);
    interning_end(&interning);
}

void perfetto_put_process(struct output *out, uint64_t uuid, const char *name)
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
void perfetto_put_track(struct output *out, uint64_t uuid, uint64_t parent, struct text name,
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

uint64_t perfetto_process(const struct perfetto *perfetto, uint32_t lane)
{
    uint32_t group = perfetto->groups.of_lane[lane];
    return perfetto->groups.secondary.items[group].parent + (uint64_t)1;
}

/* Whether the lane's events are GPU packets instead of events of a track. */
bool perfetto_is_gpu_lane(const struct perfetto *perfetto, uint32_t lane)
{
    return perfetto->options->has_gpu_stages &&
           gpu_has_lane(perfetto->catalog, perfetto->locations, lane);
}

/* Tracks that are not lanes have no group; without lanes there are no groups at all. */
void perfetto_put_lane(struct perfetto *perfetto, struct output *out, uint32_t lane)
{
    if (perfetto->lanes[lane].count == 0 || perfetto_is_gpu_lane(perfetto, lane))
        return;
    const struct group *group = &perfetto->groups.secondary.items[perfetto->groups.of_lane[lane]];
    bool is_counter = perfetto->catalog->tracks.items[lane].lane == LANE_COUNTER;
    struct text name =
        is_counter ? catalog_track_label(perfetto->catalog, lane) : text_of(group->label);
    for (uint32_t i = 0; i < perfetto->lanes[lane].count; i++)
        perfetto_put_track(out, perfetto->lanes[lane].first + i, perfetto_process(perfetto, lane),
                           name, perfetto->groups.of_lane[lane],
                           is_counter ? TRACK_COUNTER : TRACK_OF_GROUP);
}

/* The first track on which the event nests in the events open there. */
uint32_t perfetto_assign_track(end_stack *stacks, uint32_t *count, int64_t start, int64_t end)
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
        of_event[event] = (uint8_t)perfetto_assign_track(
            stacks, &lane->count, events->start_ps[event], event_end(events, event));
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

bool perfetto_plan(void *context, size_t index, unsigned worker)
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
