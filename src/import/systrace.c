/*
 * System traces of Neuron's runtime as JSON, as nrt_sys_trace_fetch_events gives them: an object
 * with a list "events". A start and a stop of one type, core and tracking id are one event; what
 * happened on a core has the core's own time, which the sync points of that core put on the host's
 * clock. Three passes: gather starts, stops and sync points; lay out lanes; push the events.
 */
#include "import/neuron.h"

#include <stdio.h>

enum { PS_PER_NS = 1000, NAME_SIZE = 64 };

/* Keys with a meaning; they are the catalog's first strings. */
enum {
    KEY_TYPE = 1,
    KEY_PHASE,
    KEY_TRACKING_ID,
    KEY_CORE,
    KEY_TIME,
    KEY_DATA,
    KEY_DEVICE_TIME,
    KEY_HOST_TIME,
    KEY_RUN,
    KEY_PHYSICAL_CORE,
    KEY_END,
};
static const char *const keys[KEY_END] = {
    [KEY_TYPE] = "event_type",
    [KEY_PHASE] = "phase",
    [KEY_TRACKING_ID] = "tracking_id",
    [KEY_CORE] = "nc_idx",
    [KEY_TIME] = "timestamp_ns",
    [KEY_DATA] = "data",
    [KEY_DEVICE_TIME] = "nc_timestamp_ns",
    [KEY_HOST_TIME] = "cpu_timestamp_ns",
    [KEY_RUN] = "exec_id",
    [KEY_PHYSICAL_CORE] = "device_core_idx",
};

enum phase { PHASE_POINT, PHASE_START, PHASE_STOP };

/* What a record says that has a meaning. */
struct trace_record {
    uint64_t place;
    enum phase phase;
    uint32_t name;
    struct text tracking_id;
    struct maybe time, core, device_time, host_time, run, physical_core;
};

/* What a clock, and a lane, belongs to: looked up by its bytes, so it has no gaps. */
struct core_key {
    int64_t core, physical_core;
    uint32_t file;
    uint8_t has_core, has_physical_core, is_hardware, zero;
};
static_assert(sizeof(struct core_key) == 24, "has no gaps");

struct system_file {
    struct event_pairs pairs;
    struct time_span span;
    struct intern clock_keys;       /* struct core_key */
    ARRAY(struct clock_fit) clocks; /* by number of the key; 0 is none */
    uint32_t process;
    bool is_cut_off;
    uint64_t strangers; /* items of the list that are no events */
};

struct system_source {
    struct record_source base;
    ARRAY(struct system_file) facts; /* by file */
};

/* A pass over one file. */
struct pass {
    struct system_source *source;
    uint32_t number; /* of the file */
    const struct json_file *file;
    struct system_file *facts;
    struct record record, stop;
    struct json_walk walk;
    struct pusher *pusher; /* in the last pass */
    struct error *err;
};

static bool is_records(struct text key, const struct json_value *first)
{
    (void)first;
    return text_equal(key, TEXT("events"));
}

static enum phase phase_of(const struct json_value *value)
{
    if (!value || value->kind != JSON_STRING)
        return PHASE_POINT;
    return text_equal(value->text, TEXT("start"))  ? PHASE_START
           : text_equal(value->text, TEXT("stop")) ? PHASE_STOP
                                                   : PHASE_POINT;
}

/* Reads the record at a place; false when it is damaged or has changed. */
static bool read_record(struct pass *pass, struct record *record, const struct json_value *item,
                        struct trace_record *trace)
{
    if (!record_read(record, item, KEY_DATA, &pass->walk.in))
        return false;
    const struct json_value *name = record_value(record, KEY_TYPE);
    const struct json_value *tracking_id = record_value(record, KEY_TRACKING_ID);
    *trace = (struct trace_record){
        .place = (uint64_t)(item->text.data - pass->file->data),
        .phase = phase_of(record_value(record, KEY_PHASE)),
        .name = name && name->kind == JSON_STRING ? record_string(record, name) : STRING_NONE,
        .tracking_id = tracking_id ? tracking_id->text : TEXT(""),
        .time = record_whole(record, KEY_TIME),
        .core = record_whole(record, KEY_CORE),
        .device_time = record_whole(record, KEY_DEVICE_TIME),
        .host_time = record_whole(record, KEY_HOST_TIME),
        .run = record_whole(record, KEY_RUN),
        .physical_core = record_whole(record, KEY_PHYSICAL_CORE),
    };
    return trace->name != INTERN_NONE || json_fail(&pass->walk.in, RECORD_CHANGED);
}

static struct core_key key_of(const struct pass *pass, const struct trace_record *trace)
{
    return (struct core_key){.file = pass->number,
                             .has_core = trace->core.is_there,
                             .core = trace->core.number,
                             .has_physical_core = trace->physical_core.is_there,
                             .physical_core = trace->physical_core.number};
}

static struct text bytes_of(const struct core_key *key)
{
    return (struct text){(const char *)key, sizeof *key};
}

static struct text name_of(const struct pass *pass, const struct trace_record *trace)
{
    return catalog_text(&pass->source->base.source.catalog, trace->name);
}

/* First pass: what must be known of all records before the first event can be told. */
static void gather(struct pass *pass, const struct trace_record *trace)
{
    struct system_file *facts = pass->facts;
    if (trace->time.is_there)
        span_sample(&facts->span, trace->time.number);
    if (trace->phase != PHASE_POINT) {
        struct {
            struct core_key core;
            uint64_t tracking, name;
        } shared = {{.core = trace->core.number, .has_core = trace->core.is_there},
                    hash_bytes(trace->tracking_id.data, trace->tracking_id.size),
                    trace->name};
        event_pairs_add(&facts->pairs, hash_bytes(&shared, sizeof shared), trace->time.number,
                        trace->place, trace->phase == PHASE_STOP);
    }
    struct maybe host = trace->host_time.is_there ? trace->host_time : trace->time;
    if (!text_equal(name_of(pass, trace), TEXT("timestamp_sync_point")) ||
        !trace->device_time.is_there || !host.is_there)
        return;
    struct core_key key = key_of(pass, trace);
    uint32_t clock = intern_add(&facts->clock_keys, bytes_of(&key));
    while (facts->clocks.count <= clock)
        *array_push(&facts->clocks) = (struct clock_fit){0};
    clock_fit_add(&facts->clocks.items[clock],
                  (struct clock_point){.device_ns = trace->device_time.number,
                                       .host_ns = host.number,
                                       .has_run = trace->run.is_there,
                                       .run = (uint64_t)trace->run.number});
}

/* The clock of the physical core, or that of the whole; NULL when neither was ever compared with
 * the host's. */
static const struct clock_fit *clock_of(const struct pass *pass, const struct trace_record *trace)
{
    const struct system_file *facts = pass->facts;
    struct core_key key = key_of(pass, trace);
    uint32_t clock = intern_find(&facts->clock_keys, bytes_of(&key));
    if (clock == INTERN_NONE && key.has_physical_core) {
        key.has_physical_core = 0;
        key.physical_core = 0;
        clock = intern_find(&facts->clock_keys, bytes_of(&key));
    }
    return clock == INTERN_NONE ? NULL : &facts->clocks.items[clock];
}

static int64_t host_time(const struct clock_fit *clock, const struct maybe *run, int64_t device_ns)
{
    return run->is_there ? clock_fit_host_ns_of_run(clock, device_ns, (uint64_t)run->number)
                         : clock_fit_host_ns(clock, device_ns);
}

/* An event as a whole. */
struct whole {
    struct trace_record start, stop;
    bool has_stop;
    bool is_adjusted; /* its times are the device's, on the host's clock */
    bool has_time;
    int64_t start_ns, end_ns;
};

static void find_times(struct pass *pass, struct whole *whole)
{
    const struct trace_record *start = &whole->start;
    const struct trace_record *stop = whole->has_stop ? &whole->stop : start;
    bool is_sync = text_equal(name_of(pass, start), TEXT("timestamp_sync_point"));
    const struct clock_fit *clock =
        neuron_is_hardware(name_of(pass, start)) && !is_sync ? clock_of(pass, start) : NULL;
    whole->is_adjusted = clock && start->device_time.is_there && stop->device_time.is_there;
    whole->has_time = whole->is_adjusted || start->time.is_there;
    if (whole->is_adjusted) {
        whole->start_ns = host_time(clock, &start->run, start->device_time.number);
        whole->end_ns = host_time(clock, &start->run, stop->device_time.number);
    } else if (is_sync && start->host_time.is_there) {
        whole->has_time = true;
        whole->start_ns = whole->end_ns = start->host_time.number;
    } else {
        whole->start_ns = start->time.number;
        whole->end_ns = stop->time.is_there ? stop->time.number : start->time.number;
    }
    if (whole->end_ns < whole->start_ns)
        whole->end_ns = whole->start_ns;
}

/* Puts the event together that this record begins, or is; `skip` when it belongs to another. */
static bool make_whole(struct pass *pass, const struct json_value *item, struct whole *whole,
                       bool *skip)
{
    const struct event_pairs *pairs = &pass->facts->pairs;
    uint64_t place;
    whole->has_stop = false;
    if (!read_record(pass, &pass->record, item, &whole->start))
        return false;
    *skip =
        whole->start.phase == PHASE_STOP && !event_pairs_is_lone_stop(pairs, whole->start.place);
    if (*skip)
        return true;
    if (whole->start.phase == PHASE_START && event_pairs_stop(pairs, whole->start.place, &place)) {
        struct json_reader in =
            json_read((struct text){pass->file->data + place, pass->file->size - (size_t)place});
        struct json_value stop;
        if (place < whole->start.place || place - whole->start.place > MEM_JUMP)
            mem_touched(MEM_JUMP);
        if (!json_read_value(&in, &stop) || stop.kind != JSON_OBJECT)
            return json_fail(&pass->walk.in, RECORD_CHANGED);
        whole->has_stop = true;
        if (!read_record(pass, &pass->stop, &stop, &whole->stop))
            return false;
    }
    find_times(pass, whole);
    return true;
}

static uint32_t make_lane(struct pass *pass, const struct core_key *key)
{
    struct catalog *catalog = &pass->source->base.source.catalog;
    char name[NAME_SIZE];
    uint32_t source =
        neuron_source(catalog, pass->facts->process, key->is_hardware, key->has_core, key->core);
    int size = snprintf(name, sizeof name, "%s", key->is_hardware ? "nc" : "nrt");
    if (key->has_core)
        size = snprintf(name, sizeof name, key->is_hardware ? "nc-%03lld" : "nrt-nc-%03lld",
                        (long long)key->core);
    if (key->is_hardware && key->has_physical_core)
        snprintf(name + size, sizeof name - (size_t)size, " core %lld",
                 (long long)key->physical_core);
    uint32_t string = catalog_string(catalog, text_of(name));
    struct track *lane = catalog_add_track(catalog, source, TRACK_LANE);
    lane->name = string;
    lane->lane = key->is_hardware ? LANE_STREAM : LANE_PLAIN;
    lane->id = key->has_physical_core ? key->physical_core : key->has_core ? key->core : 0;
    lane->sort_key = lane->id;
    return (uint32_t)(lane - catalog->tracks.items);
}

/* The lane of an event: the runtime's of a core, or the physical core. */
static uint32_t lane_of(struct pass *pass, const struct whole *whole)
{
    struct core_key key = key_of(pass, &whole->start);
    key.is_hardware = neuron_is_hardware(name_of(pass, &whole->start));
    if (!key.is_hardware) {
        key.has_physical_core = 0;
        key.physical_core = 0;
    }
    uint32_t track = lane_table_find(&pass->source->base.lanes, &key, sizeof key);
    if (track == TRACK_NONE && !pass->pusher) {
        track = make_lane(pass, &key);
        lane_table_add(&pass->source->base.lanes, &key, sizeof key, track);
    }
    return track;
}

/* Second pass: counts the event. */
static void lay_out(struct pass *pass, const struct whole *whole)
{
    struct catalog *catalog = &pass->source->base.source.catalog;
    struct time_span *span = &pass->facts->span;
    named_type(catalog, &pass->source->base.types, whole->start.name);
    uint32_t track = lane_of(pass, whole);
    catalog->tracks.items[track].events++;
    if (whole->has_time)
        span_add(span, span_near(span, whole->start_ns), span_near(span, whole->end_ns));
    else
        span->timeless++;
}

static bool same_value(const struct json_value *a, const struct json_value *b)
{
    return a->kind == b->kind && text_equal(a->text, b->text);
}

/* Whether the start says the same; of the many things a hostile one says, the first are looked
 * at. */
static bool is_repeated(const struct record *start, const struct member *member)
{
    enum { MOST_COMPARED = 64 };
    size_t count = start->members.count < MOST_COMPARED ? start->members.count : MOST_COMPARED;
    for (size_t i = 0; i < count; i++) {
        const struct member *known = &start->members.items[i];
        if (known->key == member->key && known->is_inner == member->is_inner &&
            same_value(&known->value, &member->value))
            return true;
    }
    return false;
}

static bool is_arg(const struct whole *whole, const struct member *member)
{
    if (member->is_inner)
        return true;
    switch (member->key) {
    case KEY_TYPE:
        return member->value.kind != JSON_STRING;
    case KEY_CORE:
        return !whole->start.core.is_there;
    case KEY_PHASE:
        return !whole->has_stop;
    case KEY_TIME:
        return whole->is_adjusted || !whole->start.time.is_there;
    default:
        return true;
    }
}

static bool put_args(struct pass *pass, const struct whole *whole)
{
    const struct member *member;
    bool ok = true;
    array_each (member, &pass->record.members)
        if (is_arg(whole, member))
            ok = ok && pusher_arg(pass->pusher, member->key, &member->value);
    if (whole->has_stop)
        array_each (member, &pass->stop.members)
            if (is_arg(whole, member) && !is_repeated(&pass->record, member))
                ok = ok && pusher_arg(pass->pusher, member->key, &member->value);
    return ok || json_fail(&pass->walk.in, "a value is larger than 512 MiB");
}

/* Third pass: pushes it. */
static bool push_event(struct pass *pass, const struct whole *whole)
{
    struct time_span *span = &pass->facts->span;
    uint32_t track = lane_of(pass, whole),
             type = idmap_get(&pass->source->base.types, whole->start.name);
    if (track == TRACK_NONE || (type == IDMAP_NONE && whole->start.name != STRING_NONE))
        return json_fail(&pass->walk.in, RECORD_CHANGED);
    if (!put_args(pass, whole))
        return false;
    int64_t start = span_near(span, whole->start_ns), end = span_near(span, whole->end_ns);
    struct push push = {.track = track,
                        .type = type == IDMAP_NONE ? 0 : type,
                        .start_ps = pass->file->start_ps,
                        .occurrences = OCCURRENCES_TIMED};
    if (whole->has_time) {
        int64_t since_ps = sub_saturated(start, span->first_ns) * PS_PER_NS;
        push.start_ps = add_saturated(since_ps, pass->file->base_ps);
        push.duration_ps = (end - start) * PS_PER_NS;
    }
    return pusher_add(pass->pusher, &push, pass->err);
}

static void pass_begin(struct pass *pass, struct system_source *source, uint32_t number,
                       bool is_again)
{
    *pass = (struct pass){.source = source,
                          .number = number,
                          .file = &source->base.files.items[number],
                          .facts = &source->facts.items[number]};
    pass->record = pass->stop =
        (struct record){.catalog = &source->base.source.catalog, .is_again = is_again};
    walk_begin(&pass->walk, pass->file, is_records, is_again);
}

static void pass_end(struct pass *pass)
{
    record_free(&pass->record);
    record_free(&pass->stop);
}

static void take_fact(struct pass *pass, const struct json_value *value, arg_buffer *args)
{
    struct catalog *catalog = &pass->source->base.source.catalog;
    uint32_t key = value_string(catalog, &pass->walk.key);
    if (value->text.size <= ARG_LARGEST)
        *array_push(args) =
            value_arg(catalog, catalog_key(catalog, catalog_text(catalog, key)), value);
}

static bool survey(struct system_source *source, uint32_t number, arg_buffer *args,
                   struct error *err)
{
    struct pass pass;
    struct json_value value;
    enum walk_found found;
    pass_begin(&pass, source, number, false);
    while ((found = walk_next(&pass.walk, &value)) != WALK_END) {
        struct trace_record trace;
        if (found == WALK_FACT)
            take_fact(&pass, &value, args);
        else if (value.kind != JSON_OBJECT)
            pass.facts->strangers++;
        else if (read_record(&pass, &pass.record, &value, &trace))
            gather(&pass, &trace);
    }
    pass.facts->is_cut_off = pass.walk.is_cut_off;
    bool ok = !pass.walk.in.problem || json_damaged(pass.file, &pass.walk.in, err);
    if (ok && !pass.walk.has_records)
        ok = error_in_file(err, pass.file->path, "has no list of events");
    pass_end(&pass);
    return ok;
}

/* The second and third pass over a file. */
static bool read_events(struct system_source *source, uint32_t number, struct pusher *pusher,
                        struct error *err)
{
    struct pass pass;
    struct json_value value;
    enum walk_found found;
    bool ok = true;
    pass_begin(&pass, source, number, true);
    pass.pusher = pusher;
    pass.err = err;
    err->text[0] = '\0';
    while (ok && (found = walk_next(&pass.walk, &value)) != WALK_END) {
        struct whole whole;
        bool skip;
        if (found != WALK_RECORD || value.kind != JSON_OBJECT)
            continue;
        ok = make_whole(&pass, &value, &whole, &skip);
        if (!ok || skip)
            continue;
        if (pusher)
            ok = push_event(&pass, &whole);
        else
            lay_out(&pass, &whole);
    }
    if (pass.walk.in.problem)
        ok = json_damaged(pass.file, &pass.walk.in, err);
    pass_end(&pass);
    return ok;
}

static void count_message(struct catalog *catalog, uint32_t file, uint64_t count,
                          const char *singular, const char *plural)
{
    if (count > 0)
        import_message(catalog, file, false, "%llu %s", (unsigned long long)count,
                       count == 1 ? singular : plural);
}

static void add_messages(struct catalog *catalog, uint32_t file, struct system_file *facts)
{
    if (facts->is_cut_off)
        import_message(catalog, file, false,
                       "it ends too early, as if its writer had been stopped; what is whole of it "
                       "was read");
    count_message(catalog, file, facts->pairs.lone_starts, "event has a start and no stop",
                  "events have a start and no stop");
    count_message(catalog, file, facts->pairs.lone_stops.count, "event has a stop and no start",
                  "events have a stop and no start");
    count_message(catalog, file, facts->strangers, "item among the events is none and was left out",
                  "items among the events are none and were left out");
    span_messages(&facts->span, catalog, file);
}

static bool add_file(void *context, struct json_file *file, struct error *err)
{
    struct system_source *source = context;
    struct catalog *catalog = &source->base.source.catalog;
    uint32_t number = (uint32_t)source->base.files.count;
    arg_buffer args = {0};
    bool ok = json_file_open(file, catalog, err);
    *array_push(&source->base.files) = *file;
    struct system_file *facts = array_push(&source->facts);
    *facts = (struct system_file){0};
    intern_init(&facts->clock_keys);
    ok = ok && survey(source, number, &args, err);
    if (ok) {
        uint32_t instance = catalog_group(catalog, TRACK_NONE, TRACK_INSTANCE, number,
                                          catalog->hosts.items[number].name);
        facts->process = catalog_group(catalog, instance, TRACK_PROCESS, 0, STRING_NONE);
        catalog->tracks.items[facts->process].args =
            catalog_keep_args(catalog, args.items, args.count);
        event_pairs_make(&facts->pairs);
        struct clock_fit *clock;
        array_each (clock, &facts->clocks)
            clock_fit_finish(clock);
        span_settle(&facts->span);
        ok = read_events(source, number, NULL, err);
    }
    if (ok) {
        span_tell(&facts->span, &catalog->hosts.items[number]);
        add_messages(catalog, number, facts);
    }
    array_free(&args);
    return ok;
}

static void system_close(struct source *base)
{
    struct system_source *source = (struct system_source *)base;
    struct system_file *facts;
    array_each (facts, &source->facts) {
        event_pairs_free(&facts->pairs);
        span_free(&facts->span);
        intern_free(&facts->clock_keys);
        struct clock_fit *clock;
        array_each (clock, &facts->clocks)
            clock_fit_free(clock);
        array_free(&facts->clocks);
    }
    array_free(&source->facts);
    record_source_free(&source->base);
    mem_free(source);
}

static bool read_file(struct record_source *base, uint32_t file, struct pusher *pusher,
                      struct error *err)
{
    return read_events((struct system_source *)base, file, pusher, err);
}

static struct system_source *system_create(void)
{
    struct system_source *source = mem_zeroed(1, sizeof *source);
    record_source_init(&source->base, "neuron-system-trace", keys, KEY_END);
    source->base.read_file = read_file;
    source->base.source.close = system_close;
    return source;
}

bool import_system_trace_bytes(const char *name, const uint8_t *data, size_t size,
                               struct source **result, struct error *err)
{
    struct system_source *source = system_create();
    struct json_file file = {
        .path = name, .label = "host", .data = (const char *)data, .size = size};
    return record_source_finish(&source->base, add_file(source, &file, err), result);
}

bool import_system_trace(const struct capture *capture, struct pool *pool, struct source **result,
                         struct error *err)
{
    (void)pool;
    struct system_source *source = system_create();
    return record_source_finish(&source->base, json_files_each(capture, add_file, source, err),
                                result);
}
