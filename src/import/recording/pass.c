/*
 * Recordings: passes over the events of a process. The first collects starts and stops; later ones
 * know each event's time and lane, and count or push it.
 */
#include "import/recording/recording_passes.h"

#include <stdio.h>
#include <stdlib.h>

enum { PS_PER_NS = 1000, NAME_SIZE = 64 };

/* Identifies a lane that is not a core's; has no padding. */
struct lane_key {
    uint32_t process, kind, number, name;
};
enum lane_kind { KIND_THREAD = 1, KIND_ASYNC, KIND_COUNTER, KIND_CPU, KIND_MEMORY };

/* A pass over the events of one process. */
struct pass {
    struct recording *recording;
    uint32_t number;
    struct process *process;
    struct json_file *file;
    struct pusher *pusher; /* only in the last pass */
    struct error *err;
};

static struct pass pass_of(struct recording *recording, uint32_t number, struct pusher *pusher,
                           struct error *err)
{
    return (struct pass){.recording = recording,
                         .number = number,
                         .process = &recording->processes.items[number],
                         .file = &recording->base.files.items[number],
                         .pusher = pusher,
                         .err = err};
}

static struct optional number_of(const struct recorded *event, uint32_t key)
{
    for (size_t i = 0; i < event->args.count; i++) {
        const struct arg *arg = &event->args.items[i];
        if (arg->key == key &&
            (arg->type == ARG_INT || (arg->type == ARG_UINT && arg->integer >= 0)))
            return (struct optional){true, arg->integer};
    }
    return (struct optional){0};
}

/* A start without an id is matched by name on its lane; with an id, on any lane. */
static uint64_t tracking_of(const struct recorded *event)
{
    uint64_t shared[2] = {event->tracking_id ? UINT64_MAX : event->lane,
                          (uint64_t)event->tracking_id};
    return hash_bytes(shared, sizeof shared);
}

/* The times and cores of args belong to events of cores alone. */
static struct runtime_record record_of(const struct pass *pass, const struct recorded *event)
{
    const struct known_keys *keys = &pass->recording->keys;
    bool is_start = event->phase == RECORDED_START || event->phase == RECORDED_STEP_START;
    struct runtime_record record = {
        .position = event->number,
        .phase = is_start                        ? PHASE_START
                 : event->phase == RECORDED_STOP ? PHASE_STOP
                                                 : PHASE_POINT,
        .name = pass->process->events.names.items[event->name].string,
        .time = {true, event->time_ns},
        .core = {event->has_core, event->core},
    };
    const struct recorded_lane *lane = &pass->process->events.lanes.items[event->lane];
    if (!lane->is_core)
        record.thread = (struct optional){true, (int64_t)lane->thread};
    if (record.phase != PHASE_POINT)
        record.tracking = tracking_of(event);
    if (event->args.count > 0 && event->has_core) {
        record.device_time = number_of(event, keys->device_time);
        record.host_time = number_of(event, keys->host_time);
        record.run = number_of(event, keys->run);
        record.physical_core = number_of(event, keys->physical_core);
    }
    return record;
}

/* Ranges of threads, of which there may be millions, need no matching or adjusting. */
static bool is_simple(const struct recorded *event)
{
    return event->phase == RECORDED_RANGE && !event->has_core;
}

/* Ranges of threads, which are most events, need only their time. XLA's and PyTorch's ranges are
 * collected only if there are GPU activities to be named by them. */
static bool gather(struct pass *pass, const struct recorded *event)
{
    struct process *process = pass->process;
    struct catalog *catalog = &pass->recording->base.source.catalog;
    struct recorded_lane *lane = &process->events.lanes.items[event->lane];
    lane->first_ns = event->time_ns < lane->first_ns ? event->time_ns : lane->first_ns;
    if (is_simple(event)) {
        span_sample(&process->facts.span, event->time_ns);
        return true;
    }
    struct runtime_record record = record_of(pass, event);
    runtime_gather(&process->facts, catalog, &record);
    struct torch_start start;
    if (process->gpu_file.size > 0 && record.phase == PHASE_START &&
        torch_start_of(&pass->recording->keys, event, &start)) {
        start.string = record.name;
        torch_ranges_start(&process->ranges, event->lane, event->time_ns, &start);
    } else if (process->gpu_file.size > 0 && record.phase != PHASE_POINT)
        xla_ranges_add(&process->ranges, event->lane, event->time_ns, record.name,
                       catalog_text(catalog, record.name), record.phase == PHASE_START);
    if (record.phase == PHASE_STOP)
        *array_push(&process->stops) = (struct recorded_stop){
            .number = event->number,
            .time_ns = event->time_ns,
            .device_ns = record.device_time.number,
            .has_device_time = record.device_time.has_value,
            .args = catalog_keep_args(catalog, event->args.items, event->args.count)};
    return true;
}

static int by_number(const void *a, const void *b)
{
    const struct recorded_stop *m = a, *n = b;
    return m->number < n->number ? -1 : m->number > n->number;
}

static const struct recorded_stop *stop_of(const struct process *process, uint64_t number)
{
    const struct recorded_stop key = {.number = number};
    mem_touched(MEM_JUMP);
    return bsearch(&key, process->stops.items, process->stops.count, sizeof key, by_number);
}

/* Missing starts and stops were before the capture, after it, or lost: the event is extended to the
 * limits of the capture. */
static void complete(const struct pass *pass, const struct recorded *event,
                     struct runtime_event *whole)
{
    const struct process *process = pass->process;
    if (whole->is_adjusted || whole->has_stop || whole->start.phase == PHASE_POINT)
        return;
    if (whole->start.phase == PHASE_START && process->info.end_ns > whole->end_ns)
        whole->end_ns = process->info.end_ns;
    if (whole->start.phase == PHASE_STOP)
        whole->start_ns = process->events.lanes.items[event->lane].first_ns;
}

/* The event that starts with this record, or consists of it; false when it is another event's
 * stop. */
static bool make_whole(const struct pass *pass, const struct recorded *event,
                       struct runtime_event *whole, const struct recorded_stop **stop)
{
    const struct process *process = pass->process;
    const struct event_pairs *pairs = &process->facts.pairs;
    uint64_t position;
    if (is_simple(event)) {
        *whole = (struct runtime_event){
            .start = {.position = event->number,
                      .phase = PHASE_POINT,
                      .name = process->events.names.items[event->name].string},
            .has_time = true,
            .start_ns = event->time_ns,
            .end_ns = add_saturated(event->time_ns, event->duration_ns)};
        *stop = NULL;
        return true;
    }
    *whole = (struct runtime_event){.start = record_of(pass, event)};
    *stop = NULL;
    if (whole->start.phase == PHASE_STOP && !event_pairs_is_unmatched_stop(pairs, event->number))
        return false;
    if (whole->start.phase == PHASE_START && event_pairs_stop(pairs, event->number, &position))
        *stop = stop_of(process, position);
    if (*stop) {
        whole->has_stop = true;
        whole->stop.time = (struct optional){true, (*stop)->time_ns};
        whole->stop.device_time = (struct optional){(*stop)->has_device_time, (*stop)->device_ns};
    }
    runtime_times(&process->facts, &pass->recording->base.source.catalog, whole);
    if (event->phase == RECORDED_RANGE)
        whole->end_ns = add_saturated(whole->start_ns, event->duration_ns);
    complete(pass, event, whole);
    return true;
}

static uint32_t source_of(struct catalog *catalog, uint32_t process, uint32_t kind)
{
    switch (kind) {
    case KIND_COUNTER:
        return named_source(catalog, process, SOURCE_OTHER, TEXT("counters"));
    case KIND_CPU:
        return named_source(catalog, process, SOURCE_OTHER, TEXT("cpu_util"));
    case KIND_MEMORY:
        return named_source(catalog, process, SOURCE_OTHER, TEXT("mem_usage"));
    default:
        return named_source(catalog, process, SOURCE_HOST, TEXT("/host:CPU"));
    }
}

/* TRACK_NONE when it does not exist and the passes that may add it are over. */
static uint32_t find_lane(struct pass *pass, struct lane_key key, int64_t id)
{
    struct recording *recording = pass->recording;
    struct catalog *catalog = &recording->base.source.catalog;
    uint32_t track = lane_table_find(&recording->base.lanes, &key, sizeof key);
    if (track != TRACK_NONE || pass->pusher)
        return track;
    uint32_t source = source_of(catalog, pass->process->track, key.kind);
    struct track *lane = catalog_add_track(catalog, source, TRACK_LANE);
    lane->name = key.name;
    lane->id = id;
    lane->sort_key = key.number;
    lane->lane = key.kind == KIND_ASYNC     ? LANE_ASYNC
                 : key.kind >= KIND_COUNTER ? LANE_COUNTER
                                            : LANE_PLAIN;
    track = (uint32_t)(lane - catalog->tracks.items);
    lane_table_add(&recording->base.lanes, &key, sizeof key, track);
    return track;
}

/* Counters have lanes of their own, then a runtime's events, then pairs with an id, which may
 * overlap; everything else goes to the thread's lane, which is cached in it. */
static uint32_t lane_of(struct pass *pass, const struct recorded *event,
                        const struct runtime_event *whole)
{
    const struct recorded_file *events = &pass->process->events;
    struct recorded_lane *lane = &events->lanes.items[event->lane];
    if (lane->has_track && is_simple(event))
        return lane->track;
    struct lane_key key = {.process = pass->number, .name = whole->start.name};
    if (event->phase == RECORDED_COUNTER) {
        key.kind = KIND_COUNTER;
        return find_lane(pass, key, 0);
    }
    if (event->has_core || lane->is_core || events->names.items[event->name].is_runtime)
        return runtime_lane(&pass->recording->base.lanes, &pass->recording->base.source.catalog,
                            pass->process->track, &whole->start, !pass->pusher);
    bool is_pair = whole->start.phase != PHASE_POINT;
    if (is_pair && event->tracking_id != 0) {
        key.kind = KIND_ASYNC;
        return find_lane(pass, key, 0);
    }
    key = (struct lane_key){pass->number, KIND_THREAD, lane->shown,
                            events->lanes.items[lane->shown].name};
    lane->track = find_lane(pass, key, (int64_t)lane->thread);
    lane->has_track = lane->track != TRACK_NONE;
    return lane->track;
}

static void add_category(const struct pass *pass, const struct recorded *event, uint32_t type)
{
    struct catalog *catalog = &pass->recording->base.source.catalog;
    const struct known_keys *keys = &pass->recording->keys;
    struct event_type *known = &catalog->types.items[type];
    struct text category = torch_category(keys, event, catalog_text(catalog, known->name));
    struct arg arg;
    if (category.size == 0 || known->args.count > 0)
        return;
    arg_put(&arg, keys->category, ARG_STRING, 0, catalog_string(catalog, category));
    known->args = catalog_keep_args(catalog, &arg, 1);
}

/* Types of the same name are different if their source locations are. */
static uint32_t type_of(struct pass *pass, const struct recorded_name *name)
{
    struct recording *recording = pass->recording;
    struct catalog *catalog = &recording->base.source.catalog;
    const struct recorded_file *events = &pass->process->events;
    if (name->file == 0 || name->file >= events->names.count || name->string == STRING_NONE)
        return named_type(catalog, &recording->base.types, name->string);
    uint32_t file = events->names.items[name->file].string;
    const uint32_t place[3] = {name->string, file, name->line};
    uint64_t key = hash_bytes(place, sizeof place);
    uint32_t type = idmap_get(&recording->located, key);
    if (type != IDMAP_NONE)
        return type;
    struct arg args[2];
    arg_put(&args[0], catalog_key(catalog, TEXT("file")), ARG_STRING, 0, file);
    arg_put(&args[1], catalog_key(catalog, TEXT("line")), ARG_UINT, 0, name->line);
    type = (uint32_t)catalog->types.count;
    *array_push(&catalog->types) =
        (struct event_type){.name = name->string, .args = catalog_keep_args(catalog, args, 2)};
    idmap_put(&recording->located, key, type);
    return type;
}

static void lay_out(struct pass *pass, const struct recorded *event,
                    const struct runtime_event *whole)
{
    struct catalog *catalog = &pass->recording->base.source.catalog;
    struct process *process = pass->process;
    struct time_span *span = &process->facts.span;
    const struct recorded_name *name = &process->events.names.items[event->name];
    uint32_t type = type_of(pass, name);
    process->types[event->name] = type;
    add_category(pass, event, type);
    uint32_t track = lane_of(pass, event, whole);
    catalog->tracks.items[track].events++;
    catalog->tracks.items[track].is_incomplete |=
        process->events.lanes.items[event->lane].has_dropped;
    span_add(span, span_near(span, whole->start_ns), span_near(span, whole->end_ns));
}

static void add_arg(struct pusher *pusher, uint32_t key, enum arg_type type, uint64_t value)
{
    arg_put(array_push(&pusher->args), key, type, 0, value);
}

/* Flows in the form that the analysis expects: a type, here the name, and an id. */
static void put_args(struct pass *pass, const struct recorded *event,
                     const struct runtime_event *whole, const struct recorded_stop *stop)
{
    const struct known_keys *keys = &pass->recording->keys;
    struct pusher *pusher = pass->pusher;
    for (size_t i = 0; i < event->args.count; i++)
        *array_push(&pusher->args) =
            torch_arg(keys, &pass->recording->base.source.catalog, pusher, &event->args.items[i]);
    nccl_args(keys, pusher, event,
              catalog_text(&pass->recording->base.source.catalog, whole->start.name));
    for (uint32_t i = 0; stop && i < stop->args.count; i++)
        *array_push(&pusher->args) = stop->args.items[i];
    uint64_t id = (uint64_t)event->tracking_id;
    if (event->phase == RECORDED_FLOW_STEP || event->phase == RECORDED_FLOW_STOP) {
        add_arg(pusher, keys->consumer_type, ARG_INT, whole->start.name);
        add_arg(pusher, keys->consumer, ARG_INT, id);
    }
    if (event->phase == RECORDED_FLOW_START || event->phase == RECORDED_FLOW_STEP) {
        add_arg(pusher, keys->producer_type, ARG_INT, whole->start.name);
        add_arg(pusher, keys->producer, ARG_INT, id);
    }
    if (event->phase == RECORDED_STEP_START)
        add_arg(pusher, keys->root, ARG_INT, 1);
    if (whole->start.phase != PHASE_POINT && !whole->has_stop)
        add_arg(pusher, keys->phase, ARG_STRING,
                whole->start.phase == PHASE_START ? keys->start : keys->stop);
}

static bool push_at(struct pass *pass, uint32_t track, uint32_t type, int64_t start_ns,
                    int64_t end_ns, double value)
{
    struct time_span *span = &pass->process->facts.span;
    int64_t start = span_near(span, start_ns), end = span_near(span, end_ns);
    int64_t since_ps = sub_saturated(start, span->first_ns) * PS_PER_NS;
    struct push push = {.track = track,
                        .type = type,
                        .start_ps = add_saturated(since_ps, pass->file->base_ps),
                        .duration_ps = (end - start) * PS_PER_NS,
                        .occurrences = OCCURRENCES_TIMED,
                        .value = value};
    return pusher_add(pass->pusher, &push, pass->err);
}

bool recording_put(struct recording *recording, uint32_t process, struct pusher *pusher,
                   uint32_t track, uint32_t type, int64_t start_ns, int64_t end_ns, double value,
                   struct error *err)
{
    struct pass pass = pass_of(recording, process, pusher, err);
    struct time_span *span = &pass.process->facts.span;
    if (track == TRACK_NONE)
        return error_in_file(err, pass.file->path, "%s", RECORD_CHANGED);
    if (pusher)
        return push_at(&pass, track, type, start_ns, end_ns, value);
    recording->base.source.catalog.tracks.items[track].events++;
    span_add(span, span_near(span, start_ns), span_near(span, end_ns));
    return true;
}

uint32_t recording_thread_lane(struct recording *recording, uint32_t process, uint64_t thread,
                               struct text name)
{
    struct pass pass = pass_of(recording, process, NULL, NULL);
    const struct recorded_file *events = &pass.process->events;
    struct lane_key key = {process, KIND_THREAD, (uint32_t)thread + UINT32_MAX / 2, STRING_NONE};
    if (name.size > 0)
        key.name = catalog_string(&recording->base.source.catalog, name);
    for (uint32_t i = 0; i < events->lanes.count; i++) {
        const struct recorded_lane *lane = &events->lanes.items[i];
        if (lane->thread == thread && !lane->is_core && lane->place != PLACE_APART)
            key = (struct lane_key){process, KIND_THREAD, lane->shown,
                                    events->lanes.items[lane->shown].name};
    }
    return find_lane(&pass, key, (int64_t)thread);
}

static bool take_event(struct pass *pass, const struct recorded *event)
{
    struct runtime_event whole;
    const struct recorded_stop *stop;
    if (!make_whole(pass, event, &whole, &stop))
        return true;
    if (!pass->pusher) {
        lay_out(pass, event, &whole);
        return true;
    }
    uint32_t track = lane_of(pass, event, &whole);
    if (track == TRACK_NONE)
        return error_in_file(pass->err, pass->file->path, "%s", RECORD_CHANGED);
    put_args(pass, event, &whole, stop);
    return push_at(pass, track, pass->process->types[event->name], whole.start_ns, whole.end_ns,
                   event->value);
}

static bool read_events(struct pass *pass, bool (*take)(struct pass *, const struct recorded *))
{
    struct recorded event = {0};
    struct recorded_walk *walk = recorded_walk_begin(&pass->process->events);
    bool ok = true;
    while (ok && recorded_walk_next(walk, &event))
        ok = take(pass, &event);
    uint64_t offset;
    const char *problem = recorded_walk_problem(walk, &offset);
    if (ok && problem)
        ok = error_at(pass->err, pass->file->path, offset, "the recording is damaged: %s", problem);
    recorded_walk_end(walk);
    array_free(&event.args);
    return ok;
}

static bool take_sample(struct pass *pass, struct lane_key key, uint32_t type, int64_t time_ns,
                        double value)
{
    struct time_span *span = &pass->process->facts.span;
    uint32_t track = find_lane(pass, key, key.number);
    if (track == TRACK_NONE)
        return false;
    if (pass->pusher)
        return push_at(pass, track, type, time_ns, time_ns, value);
    pass->recording->base.source.catalog.tracks.items[track].events++;
    int64_t time = span_near(span, time_ns);
    span_add(span, time, time);
    return true;
}

static bool take_named_sample(struct pass *pass, uint32_t kind, uint32_t number, const char *name,
                              int64_t time_ns, double value)
{
    struct catalog *catalog = &pass->recording->base.source.catalog;
    uint32_t string = pass->pusher ? intern_find(&catalog->strings, text_of(name))
                                   : catalog_string(catalog, text_of(name));
    if (string == INTERN_NONE)
        return false;
    uint32_t type = pass->pusher ? idmap_get(&pass->recording->base.types, string)
                                 : named_type(catalog, &pass->recording->base.types, string);
    struct lane_key key = {pass->number, kind, number, string};
    return type != IDMAP_NONE && take_sample(pass, key, type, time_ns, value);
}

static bool take_cpu(void *context, const struct usage_point *point)
{
    char name[NAME_SIZE] = "average";
    if (!point->is_average)
        snprintf(name, sizeof name, "%u", point->cpu);
    return take_named_sample(context, KIND_CPU, point->is_average ? 0 : point->cpu + 1, name,
                             point->time_ns, point->value);
}

static bool take_memory(void *context, const struct usage_point *point)
{
    return take_named_sample(context, KIND_MEMORY, 0, "usage", point->time_ns, point->value) &&
           take_named_sample(context, KIND_MEMORY, 1, "percent_usage", point->time_ns,
                             point->percent);
}

static bool read_usage(struct pass *pass)
{
    for (enum session_file kind = SESSION_CPU; kind <= SESSION_MEMORY; kind++) {
        const struct file *file = &pass->process->usage[kind];
        struct pb_reader failed;
        if (file->size > 0 &&
            !usage_read(kind, file->data, file->size, kind == SESSION_CPU ? take_cpu : take_memory,
                        pass, &failed))
            return error_in_file(pass->err, pass->file->path, "the recording is damaged: %s: %s",
                                 kind == SESSION_CPU ? "CPU utilization samples"
                                                     : "host memory samples",
                                 failed.problem);
    }
    return true;
}

bool recording_gather(struct recording *recording, uint32_t number, struct error *err)
{
    struct pass pass = pass_of(recording, number, NULL, err);
    return read_events(&pass, gather);
}

bool recording_take_events(struct recording *recording, uint32_t number, struct pusher *pusher,
                           struct error *err)
{
    struct pass pass = pass_of(recording, number, pusher, err);
    return read_events(&pass, take_event) && read_usage(&pass);
}
