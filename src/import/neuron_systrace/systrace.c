/*
 * Imports system traces of Neuron's runtime as JSON, as nrt_sys_trace_fetch_events returns them: an
 * object with a list "events". A start and a stop of one type, core and tracking id are one event;
 * events on a core have the core's time, which the core's sync points convert to host time. Three
 * passes: collect starts, stops and sync points; create lanes; push the events.
 */
#include "import/neuron_systrace/systrace.h"

#include "import/neuron_systrace/runtime.h"

enum { PS_PER_NS = 1000 };

/* Known keys; they are the catalog's first strings. */
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

struct system_file {
    struct runtime_facts runtime;
    uint32_t process;
    bool is_cut_off;
    uint64_t non_events; /* items of the list that are not events */
    struct drops drops;  /* events dropped by the runtime, and the others */
};

struct system_source {
    struct record_source base;
    ARRAY(struct system_file) facts; /* by file */
};

/* A pass over one file. */
struct pass {
    struct system_source *source;
    uint32_t number; /* index of the file */
    const struct json_file *file;
    struct system_file *facts;
    struct record record, stop;
    struct json_walk walk;
    struct pusher *pusher; /* only in the last pass */
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

/* Reads the record at an offset; false when it is damaged or has changed. */
static bool read_record(struct pass *pass, struct record *record, const struct json_value *item,
                        struct runtime_record *trace)
{
    if (!record_read(record, item, KEY_DATA, &pass->walk.in))
        return false;
    const struct json_value *name = record_value(record, KEY_TYPE);
    const struct json_value *tracking_id = record_value(record, KEY_TRACKING_ID);
    *trace = (struct runtime_record){
        .position = (uint64_t)(item->text.data - pass->file->data),
        .phase = phase_of(record_value(record, KEY_PHASE)),
        .name = name && name->kind == JSON_STRING ? record_string(record, name) : STRING_NONE,
        .tracking = tracking_id ? hash_bytes(tracking_id->text.data, tracking_id->text.size) : 0,
        .time = record_whole(record, KEY_TIME),
        .core = record_whole(record, KEY_CORE),
        .device_time = record_whole(record, KEY_DEVICE_TIME),
        .host_time = record_whole(record, KEY_HOST_TIME),
        .run = record_whole(record, KEY_RUN),
        .physical_core = record_whole(record, KEY_PHYSICAL_CORE),
    };
    return trace->name != INTERN_NONE || json_fail(&pass->walk.in, RECORD_CHANGED);
}

/* Builds the event that starts with this record, or consists of it; `skip` when it is another
 * event's stop. */
static bool make_whole(struct pass *pass, const struct json_value *item,
                       struct runtime_event *whole, bool *skip)
{
    const struct event_pairs *pairs = &pass->facts->runtime.pairs;
    uint64_t position;
    whole->has_stop = false;
    if (!read_record(pass, &pass->record, item, &whole->start))
        return false;
    *skip = whole->start.phase == PHASE_STOP &&
            !event_pairs_is_unmatched_stop(pairs, whole->start.position);
    if (*skip)
        return true;
    if (whole->start.phase == PHASE_START &&
        event_pairs_stop(pairs, whole->start.position, &position)) {
        struct json_reader in = json_read(
            (struct text){pass->file->data + position, pass->file->size - (size_t)position});
        struct json_value stop;
        if (position < whole->start.position || position - whole->start.position > MEM_JUMP)
            mem_touched(MEM_JUMP);
        if (!json_read_value(&in, &stop) || stop.kind != JSON_OBJECT)
            return json_fail(&pass->walk.in, RECORD_CHANGED);
        whole->has_stop = true;
        if (!read_record(pass, &pass->stop, &stop, &whole->stop))
            return false;
    }
    runtime_times(&pass->facts->runtime, &pass->source->base.source.catalog, whole);
    return true;
}

static uint32_t lane_of(struct pass *pass, const struct runtime_event *whole)
{
    return runtime_lane(&pass->source->base.lanes, &pass->source->base.source.catalog,
                        pass->facts->process, &whole->start, !pass->pusher);
}

/* Second pass: counts the event. */
static void lay_out(struct pass *pass, const struct runtime_event *whole)
{
    struct catalog *catalog = &pass->source->base.source.catalog;
    struct time_span *span = &pass->facts->runtime.span;
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

/* Whether the start has the same member; compares a limited number, as a hostile file may have
 * many. */
static bool is_repeated(const struct record *start, const struct member *member)
{
    enum { MAX_COMPARED = 64 };
    size_t count = start->members.count < MAX_COMPARED ? start->members.count : MAX_COMPARED;
    for (size_t i = 0; i < count; i++) {
        const struct member *known = &start->members.items[i];
        if (known->key == member->key && known->is_inner == member->is_inner &&
            same_value(&known->value, &member->value))
            return true;
    }
    return false;
}

static bool is_arg(const struct runtime_event *whole, const struct member *member)
{
    if (member->is_inner)
        return true;
    switch (member->key) {
    case KEY_TYPE:
        return member->value.kind != JSON_STRING;
    case KEY_CORE:
        return !whole->start.core.has_value;
    case KEY_PHASE:
        return !whole->has_stop;
    case KEY_TIME:
        return whole->is_adjusted || !whole->start.time.has_value;
    default:
        return true;
    }
}

static bool put_args(struct pass *pass, const struct runtime_event *whole)
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
static bool push_event(struct pass *pass, const struct runtime_event *whole)
{
    struct time_span *span = &pass->facts->runtime.span;
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
                       bool is_reread)
{
    *pass = (struct pass){.source = source,
                          .number = number,
                          .file = &source->base.files.items[number],
                          .facts = &source->facts.items[number]};
    pass->record = pass->stop =
        (struct record){.catalog = &source->base.source.catalog, .is_reread = is_reread};
    walk_begin(&pass->walk, pass->file, is_records, is_reread);
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
    int64_t lost;
    if (text_equal(pass->walk.key.text, TEXT("lost_events")) && value_whole(value, &lost) &&
        lost > 0)
        pass->facts->drops.dropped = (uint64_t)lost;
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
        struct runtime_record trace;
        pass.facts->drops.stored += found == WALK_RECORD && value.kind == JSON_OBJECT;
        if (found == WALK_FACT)
            take_fact(&pass, &value, args);
        else if (value.kind != JSON_OBJECT)
            pass.facts->non_events++;
        else if (read_record(&pass, &pass.record, &value, &trace))
            runtime_gather(&pass.facts->runtime, &source->base.source.catalog, &trace);
    }
    pass.facts->is_cut_off = pass.walk.is_cut_off;
    bool ok = !pass.walk.in.problem || json_damaged(pass.file, &pass.walk.in, err);
    if (ok && !pass.walk.has_records)
        ok = error_in_file(err, pass.file->path, "the JSON has no list of events");
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
        struct runtime_event whole;
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

static void add_messages(struct catalog *catalog, uint32_t file, const struct system_file *facts)
{
    char text[DROPS_TEXT_SIZE];
    if (facts->drops.dropped > 0)
        import_message(catalog, file, false, "%s", drops_text(&facts->drops, text));
    if (facts->is_cut_off)
        import_message(catalog, file, false,
                       "the file is truncated; all complete events were read");
    if (facts->non_events > 0)
        import_message(catalog, file, false, "%llu item%s skipped: not an event",
                       (unsigned long long)facts->non_events,
                       facts->non_events == 1 ? " was" : "s were");
    runtime_messages(&facts->runtime, catalog, file);
}

/* The file is added to the list even if it cannot be opened, so that closing the source frees it.
 * The metadata becomes args of the process. */
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
    runtime_facts_init(&facts->runtime);
    ok = ok && survey(source, number, &args, err);
    if (ok) {
        uint32_t instance = catalog_group(catalog, TRACK_NONE, TRACK_INSTANCE, number,
                                          catalog->hosts.items[number].name);
        facts->process = catalog_group(catalog, instance, TRACK_PROCESS, 0, STRING_NONE);
        catalog->tracks.items[facts->process].args =
            catalog_keep_args(catalog, args.items, args.count);
        runtime_settle(&facts->runtime);
        ok = read_events(source, number, NULL, err);
    }
    if (ok) {
        span_set_host(&facts->runtime.span, &catalog->hosts.items[number]);
        add_messages(catalog, number, facts);
    }
    array_free(&args);
    return ok;
}

static void system_close(struct source *base)
{
    struct system_source *source = (struct system_source *)base;
    struct system_file *facts;
    array_each (facts, &source->facts)
        runtime_facts_free(&facts->runtime);
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
