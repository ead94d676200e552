/*
 * The events of a profile as JSON, with the keys of the published system_profile.json (timestamp
 * and duration in ns, group, ids as numbers or strings as there) plus exact times and args. Events
 * are read from the source again; workers format batches concurrently and write them in order, so
 * only a few batches are in memory at a time.
 */
#include "export/json_events.h"

#include "capture/events/events.h"

#include <stdio.h>

/* Args of Neuron's events that system_profile.json has beside the name. */
struct runtime_keys {
    uint32_t type, size, tensor_id, tensor_name;
};

struct event_sink {
    struct sink sink;
    const struct analysis *analysis;
    bool wants_counters;
    struct location *locations; /* by track */
    uint64_t *first_event;      /* by track: id of its first event */
    uint64_t **parents;         /* by track, of Neuron's lanes: of each event, plus one, or 0 */
    struct runtime_keys keys;
    struct json *json;      /* written by the worker whose turn it is */
    struct output *buffers; /* one per worker */
    struct json *parts;     /* one per worker, writing to its buffer */
    struct sequencer turn;
};

void put_step(struct json *json, uint32_t group)
{
    if (group)
        json_put_uint(json, "step", group - 1);
}

void put_number_text(struct json *json, const char *key, int64_t number)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%lld", (long long)number);
    json_put_text(json, key, (struct text){text, (size_t)size});
}

/* Where the event happened, with the keys of system_profile.json. */
static void put_location(struct json *json, const struct catalog *catalog,
                         const struct location *location)
{
    char group[MAX_GROUP_NAME];
    json_put_text(json, "group", location_group(location, group));
    json_put_text(json, "instance_id", catalog_text(catalog, location->instance));
    put_number_text(json, "process_id", location->process);
    json_put_int(json, "thread_id", location->thread);
    if (location->has_core) {
        put_number_text(json, "lnc_idx", location->core);
        json_put_int(json, "worker_gid", location->worker);
    }
    if (location->layer == LAYER_FRAMEWORK)
        json_put_int(json, "type", FRAMEWORK_EVENT);
}

static const struct arg *find_arg(const struct arg_list *args, uint32_t key)
{
    for (uint32_t i = 0; i < args->count; i++)
        if (args->items[i].key == key)
            return &args->items[i];
    return NULL;
}

static bool is_whole(const struct arg *arg)
{
    return arg && (arg->type == ARG_INT || (arg->type == ARG_UINT && arg->integer >= 0));
}

/* The guides have two numbers: nrt_tensor_write's, and that of framework events. The other types
 * are counted from that one, in the order of the list; those of the hardware have a range of their
 * own. */
static int64_t type_number(struct text name)
{
    enum { TENSOR_WRITE = 11, FIRST_HARDWARE = 1001 };
    enum runtime_event type = event_type_find(name.data, name.size);
    if (type == EVENT_TYPES)
        return -1;
    return event_type_group(type) == EVENT_HARDWARE
               ? FIRST_HARDWARE + (int64_t)type
               : TENSOR_WRITE + (int64_t)type - EVENT_nrt_tensor_write;
}

/* What the guides show of an event of Neuron's runtime beside its name and place. */
static void put_runtime_fields(struct json *json, const struct event_sink *sink, uint32_t track,
                               uint64_t event, struct text name, const struct arg_list *args)
{
    const struct catalog *catalog = sink->analysis->catalog;
    const struct arg *type = find_arg(args, sink->keys.type);
    const struct arg *size = find_arg(args, sink->keys.size);
    const struct arg *tensor = find_arg(args, sink->keys.tensor_id);
    const struct arg *tensor_name = find_arg(args, sink->keys.tensor_name);
    uint64_t parent = sink->parents[track][event];
    int64_t number = is_whole(type) ? type->integer : type_number(name);
    json_put_uint(json, "parent_id", parent ? sink->first_event[track] + parent : 0);
    if (number >= 0)
        json_put_int(json, "type", number);
    if (is_whole(size))
        put_number_text(json, "size", size->integer);
    if (!is_whole(tensor))
        return;
    put_number_text(json, "tensor_id", tensor->integer);
    bool is_text =
        tensor_name && (tensor_name->type == ARG_STRING || tensor_name->type == ARG_TEXT);
    struct text known = is_text ? arg_text(catalog, tensor_name) : (struct text){0};
    json_put_text(json, "tensor_name", known.size > 0 ? known : TEXT("_unknown_"));
}

/* Keys of the published system_profile.json come with nanoseconds; Kymo's own, which it reads back,
 * are exact. */
static void put_event(struct json *json, const struct event_sink *sink, const struct batch *batch,
                      uint32_t event)
{
    const struct analysis *analysis = sink->analysis;
    const struct catalog *catalog = analysis->catalog;
    int64_t epoch_ns = catalog->start_epoch_ns == TIME_UNSET ? 0 : catalog->start_epoch_ns;
    const uint32_t *group = analysis->lanes[batch->track].group;
    uint32_t type = batch->type[event];
    struct arg_list args = batch_args(batch, event);
    json_open_row(json, '{');
    json_put_uint(json, "id", sink->first_event[batch->track] + batch->first + event + 1);
    json_put_uint(json, "track", batch->track);
    json_put_text(json, "name", catalog_text(catalog, catalog->types.items[type].name));
    if (type != 0)
        json_put_uint(json, "event_type", type);
    json_put_int(json, "timestamp", add_saturated(epoch_ns, whole_ns(batch->start_ps[event])));
    json_put_int(json, "duration", whole_ns(batch->duration_ps[event]));
    put_location(json, catalog, &sink->locations[batch->track]);
    if (sink->parents[batch->track])
        put_runtime_fields(json, sink, batch->track, batch->first + event,
                           catalog_text(catalog, catalog->types.items[type].name), &args);
    if (batch->has_occurrences && batch->occurrences[event] != OCCURRENCES_TIMED)
        json_put_int(json, "num_occurrences", batch->occurrences[event]);
    else
        json_put_int(json, "start_ps", batch->start_ps[event]);
    json_put_int(json, "duration_ps", batch->duration_ps[event]);
    put_step(json, group ? group[batch->first + event] : 0);
    if (batch->has_values)
        json_put_double(json, "value", batch->value[event]);
    put_args(json, catalog, &args);
    json_close_row(json, '}');
}

static bool take_batch(struct sink *base, const struct batch *batch, unsigned worker,
                       struct error *err)
{
    struct event_sink *sink = (struct event_sink *)base;
    struct output *buffer = &sink->buffers[worker];
    buffer->size = 0;
    struct json part = sink->parts[worker];
    bool is_counter = sink->analysis->catalog->tracks.items[batch->track].lane == LANE_COUNTER;
    for (uint32_t event = 0; event < batch->count && is_counter == sink->wants_counters; event++)
        put_event(&part, sink, batch, event);
    if (!sequencer_wait(&sink->turn, batch->sequence))
        return error_set(err, "%s", ""); /* another part failed and reports why */
    json_splice(sink->json, buffer->data, buffer->size);
    bool ok = !sink->json->out->failed;
    if (!ok)
        *err = sink->json->out->error;
    if (batch->last)
        sequencer_pass(&sink->turn);
    return ok;
}

static void cancel(struct sink *base)
{
    sequencer_cancel(&((struct event_sink *)base)->turn);
}

/* End and number of an event that others may lie in. */
struct open_event {
    int64_t end_ps;
    uint64_t event;
};

/* By event: the innermost one that contains it, plus one. What it overlaps but does not lie in
 * cannot contain later ones that it does not contain too. */
static uint64_t *find_parents(const struct analysis *analysis, uint32_t track)
{
    const struct lane_events *events = &analysis->trace.lanes[track];
    const uint64_t *order = analysis->lanes[track].order;
    uint64_t *parents = mem_zeroed(events->count, sizeof *parents);
    ARRAY(struct open_event) open = {0};
    for (uint64_t i = 0; i < events->count; i++) {
        uint64_t event = order ? order[i] : i;
        if (!event_is_timed(events, event))
            continue;
        int64_t end = event_end(events, event);
        while (open.count > 0 && (open.items[open.count - 1].end_ps < end ||
                                  open.items[open.count - 1].end_ps <= events->start_ps[event]))
            open.count--;
        if (open.count > 0)
            parents[event] = open.items[open.count - 1].event + 1;
        *array_push(&open) = (struct open_event){end, event};
    }
    array_free(&open);
    return parents;
}

static bool is_neuron(const struct location *location)
{
    return location->layer == LAYER_RUNTIME || location->layer == LAYER_NEURON;
}

static struct runtime_keys find_keys(const struct catalog *catalog)
{
    const struct intern *strings = &catalog->strings;
    return (struct runtime_keys){
        intern_find(strings, TEXT("type")), intern_find(strings, TEXT("size")),
        intern_find(strings, TEXT("tensor_id")), intern_find(strings, TEXT("tensor_name"))};
}

/* Returns whether there are counters. */
static bool prepare(struct event_sink *sink, unsigned workers)
{
    const struct catalog *catalog = sink->analysis->catalog;
    bool has_counters = false;
    sink->locations = locations_of(catalog);
    sink->first_event = mem_zeroed(catalog->tracks.count, sizeof *sink->first_event);
    sink->parents = mem_zeroed(catalog->tracks.count, sizeof *sink->parents);
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (i > 0)
            sink->first_event[i] = sink->first_event[i - 1] + track[-1].events;
        if (track->level != TRACK_LANE || track->events == 0)
            continue;
        has_counters |= track->lane == LANE_COUNTER;
        if (track->lane != LANE_COUNTER && is_neuron(&sink->locations[i]))
            sink->parents[i] = find_parents(sink->analysis, i);
    }
    sink->buffers = mem_alloc(workers * sizeof *sink->buffers);
    sink->parts = mem_alloc(workers * sizeof *sink->parts);
    for (unsigned i = 0; i < workers; i++)
        output_memory(&sink->buffers[i]);
    return has_counters;
}

static void release(struct event_sink *sink, unsigned workers)
{
    for (unsigned i = 0; i < workers; i++)
        output_discard(&sink->buffers[i]);
    for (size_t i = 0; i < sink->analysis->catalog->tracks.count; i++)
        mem_free(sink->parents[i]);
    mem_free(sink->buffers);
    mem_free(sink->parts);
    mem_free(sink->locations);
    mem_free(sink->first_event);
    mem_free(sink->parents);
}

/* Workers format batches into buffers of their own; the sequencer lets each append to the document
 * in the order of the source, so that the output is always the same. */
static bool put_list(struct event_sink *sink, const char *key, struct source *source,
                     struct pool *pool, struct error *err)
{
    json_key(sink->json, key);
    json_open(sink->json, '[');
    for (unsigned i = 0; i < pool_workers(pool); i++)
        sink->parts[i] = json_fork(sink->json, &sink->buffers[i]);
    sequencer_init(&sink->turn);
    bool ok = source_read(source, &sink->sink, pool, err);
    sequencer_destroy(&sink->turn);
    json_close(sink->json, ']');
    return ok;
}

bool put_events(struct json *json, const struct analysis *analysis, struct source *source,
                struct pool *pool, struct error *err)
{
    struct event_sink sink = {.sink = {.batch = take_batch, .cancel = cancel},
                              .analysis = analysis,
                              .json = json,
                              .keys = find_keys(analysis->catalog)};
    bool has_counters = prepare(&sink, pool_workers(pool));
    bool ok = put_list(&sink, "trace_events", source, pool, err);
    sink.wants_counters = true;
    if (ok && has_counters)
        ok = put_list(&sink, "counter_samples", source, pool, err);
    release(&sink, pool_workers(pool));
    return ok;
}
