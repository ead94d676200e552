/*
 * Neuron Explorer JSON: decodes one record into an event: its time, lane, type and args.
 */
#include "import/neuron_explorer/explorer_passes.h"

#include <stdio.h>

enum { PS_PER_NS = 1000, NAME_SIZE = 128 };

/* A time or duration: whole nanoseconds and the remaining picoseconds. */
struct moment {
    bool has_value;
    int64_t ns, ps;
};

/* Identifies a lane; compared by its bytes, so it has no padding. */
struct lane_key {
    int64_t process, thread, core;
    uint32_t file, list, instance, group, series;
    uint8_t has_core, is_hardware, is_framework, zero;
};
static_assert(sizeof(struct lane_key) == 48, "has no padding");

/* The value of a key, which is then not pushed as an arg. */
static const struct json_value *use(struct explorer_pass *pass, enum explorer_key key)
{
    const struct json_value *value = record_value(&pass->record, key);
    if (!value || pass->record.inner >> key & 1)
        return NULL;
    pass->used |= (uint64_t)1 << key;
    return value;
}

static struct optional use_whole(struct explorer_pass *pass, enum explorer_key key)
{
    const struct json_value *value = use(pass, key);
    int64_t number;
    if (value && value_whole(value, &number))
        return (struct optional){true, number};
    pass->used &= ~((uint64_t)1 << key);
    return (struct optional){0};
}

/* The first of two keys that has a text, as a string of the catalog. */
static uint32_t use_text(struct explorer_pass *pass, enum explorer_key first,
                         enum explorer_key second)
{
    const enum explorer_key choices[] = {first, second};
    for (size_t i = 0; i < 2; i++) {
        const struct json_value *value = use(pass, choices[i]);
        if (value && value->kind == JSON_STRING)
            return record_string(&pass->record, value);
        if (value)
            pass->used &= ~((uint64_t)1 << choices[i]);
    }
    return STRING_NONE;
}

static struct moment use_moment(struct explorer_pass *pass, enum explorer_key key)
{
    struct json_number number;
    struct optional whole = use_whole(pass, key);
    if (whole.has_value)
        return (struct moment){true, whole.number, 0};
    const struct json_value *value = use(pass, key);
    if (value && value_number(value, &number) && !number.is_nonfinite) {
        double ns = json_number_double(&number);
        if (ns > -0x1p62 && ns < 0x1p62) {
            int64_t floored = (int64_t)ns - (ns < (double)(int64_t)ns);
            int64_t ps = (int64_t)((ns - (double)floored) * (double)PS_PER_NS + 0.5);
            return (struct moment){true, floored, ps};
        }
    }
    pass->used &= ~((uint64_t)1 << key);
    return (struct moment){0};
}

/* The time of an event, relative to its file's origin, and its duration. */
struct when {
    bool has_time;
    int64_t start_ns, start_ps; /* start_ps: the remainder of start_ns */
    int64_t duration_ps;
};

static struct when when_of(struct explorer_pass *pass)
{
    struct moment start = use_moment(pass, KEY_TIME), duration;
    if (start.has_value || pass->list != LIST_OTHER) {
        duration = use_moment(pass, KEY_DURATION);
    } else {
        start = use_moment(pass, KEY_START);
        struct moment end = use_moment(pass, KEY_END_TIME);
        duration =
            (struct moment){end.has_value, sub_saturated(end.ns, start.ns), end.ps - start.ps};
    }
    int64_t ps;
    if (__builtin_mul_overflow(duration.ns, (int64_t)PS_PER_NS, &ps))
        ps = duration.ns < 0 ? 0 : INT64_MAX;
    ps = add_saturated(ps, duration.ps);
    return (struct when){start.has_value, start.ns, start.ps,
                         duration.has_value && ps > 0 ? ps : 0};
}

void explorer_sample_time(struct explorer_pass *pass)
{
    struct when when = when_of(pass);
    if (when.has_time)
        span_sample(&pass->facts->span, when.start_ns);
}

/* Parses the core number in "nrt-nc-003". */
static bool core_in_group(struct text group, int64_t *core)
{
    enum { MAX_DIGITS = 9 };
    size_t digits = 0;
    *core = 0;
    while (digits < group.size && group.data[group.size - digits - 1] >= '0' &&
           group.data[group.size - digits - 1] <= '9')
        digits++;
    struct text before = {group.data, group.size - digits};
    if (digits == 0 || digits > MAX_DIGITS || !text_ends(before, TEXT("-nc-")))
        return false;
    for (size_t i = 0; i < digits; i++)
        *core = *core * 10 + (group.data[before.size + i] - '0');
    return true;
}

static struct text text_at(const struct explorer_pass *pass, uint32_t string)
{
    return catalog_text(&pass->source->base.source.catalog, string);
}

/* The core of a system profile's event; keys that repeat it are not pushed as args. */
static void find_core(struct explorer_pass *pass, struct lane_key *key)
{
    struct optional logical = use_whole(pass, KEY_LOGICAL_CORE), core = use_whole(pass, KEY_CORE);
    if (core_in_group(text_at(pass, key->group), &key->core)) {
        key->has_core = true;
    } else {
        key->has_core = logical.has_value || core.has_value;
        key->core = logical.has_value ? logical.number : core.number;
    }
    if (logical.number != key->core)
        pass->used &= ~((uint64_t)1 << KEY_LOGICAL_CORE);
    if (core.number != key->core)
        pass->used &= ~((uint64_t)1 << KEY_CORE);
}

static bool is_counter(enum explorer_list list)
{
    return list == LIST_CPU || list == LIST_MEMORY || list == LIST_DEVICE_MEMORY;
}

/* The group of a counter: the CPU or the memory. */
static uint32_t counter_group(struct explorer_pass *pass)
{
    char name[NAME_SIZE] = "";
    const struct json_value *cpu = pass->list == LIST_CPU ? use(pass, KEY_CPU_ID) : NULL;
    if (cpu)
        return record_string(&pass->record, cpu);
    if (pass->list == LIST_DEVICE_MEMORY)
        snprintf(name, sizeof name, "device %lld hbm %lld",
                 (long long)use_whole(pass, KEY_DEVICE_IDX).number,
                 (long long)use_whole(pass, KEY_HBM_IDX).number);
    struct json_value value = {text_of(name), JSON_STRING, false};
    return record_string(&pass->record, &value);
}

/* The lane of a record. */
static struct lane_key key_of(struct explorer_pass *pass, uint32_t name)
{
    struct lane_key key = {.file = pass->number, .list = pass->list};
    key.instance = use_text(pass, KEY_INSTANCE, KEY_INSTANCE);
    if (key.instance == STRING_NONE)
        key.instance = pass->facts->instance;
    if (is_counter(pass->list)) {
        key.group = counter_group(pass);
        return key;
    }
    key.process = use_whole(pass, KEY_PROCESS).number;
    if (pass->list == LIST_EVENTS) {
        key.thread = use_whole(pass, KEY_THREAD).number;
        key.group = use_text(pass, KEY_GROUP, KEY_GROUP);
        find_core(pass, &key);
        struct text group = text_at(pass, key.group == INTERN_NONE ? STRING_NONE : key.group);
        bool is_runtime = key.has_core || text_starts(group, TEXT("nrt")) ||
                          text_starts(group, TEXT("neuron_hw"));
        key.is_framework = text_starts(group, TEXT("framework")) || !is_runtime;
        key.is_hardware = !key.is_framework && (neuron_is_hardware(text_at(pass, name)) ||
                                                text_starts(group, TEXT("neuron_hw")));
        return key;
    }
    struct optional core = use_whole(pass, KEY_CORE);
    key.group = use_text(pass, KEY_SUBGROUP, KEY_LABEL);
    if (key.group == STRING_NONE)
        key.group = record_string(&pass->record, &pass->walk.key);
    key.has_core = core.has_value || pass->facts->has_core;
    key.core = core.has_value ? core.number : pass->facts->core;
    key.is_hardware = true;
    return key;
}

/* The event's name; for records without one, the name of their list. */
static uint32_t name_of(struct explorer_pass *pass)
{
    const enum explorer_key first = pass->list == LIST_INSTRUCTIONS ? KEY_OPCODE
                                    : pass->list == LIST_DMA        ? KEY_VARIABLE
                                                                    : KEY_NAME;
    uint32_t name = use_text(pass, first, KEY_NAME);
    if (name == STRING_NONE && pass->list >= LIST_INSTRUCTIONS)
        name = record_string(&pass->record, &pass->walk.key);
    return name;
}

static uint32_t make_source(struct catalog *catalog, const struct lane_key *key, uint32_t process)
{
    static const char *const counters[] = {[LIST_CPU] = "cpu_util",
                                           [LIST_MEMORY] = "mem_usage",
                                           [LIST_DEVICE_MEMORY] = "device_mem_usage"};
    if (is_counter(key->list))
        return named_source(catalog, process, SOURCE_OTHER, text_of(counters[key->list]));
    if (key->is_framework)
        return named_source(catalog, process, SOURCE_HOST, TEXT("/host:CPU"));
    return neuron_source(catalog, process, key->is_hardware, key->has_core, key->core);
}

/* Counters are named after the value, prefixed by the group where there are several. */
static uint32_t lane_name(struct catalog *catalog, const struct lane_key *key)
{
    char name[NAME_SIZE];
    struct text group = catalog_text(catalog, key->group);
    struct text series = catalog_text(catalog, key->series);
    if (!is_counter(key->list) || key->list == LIST_CPU)
        return key->group;
    snprintf(name, sizeof name, "%.*s%s%.*s", (int)(group.size < 40 ? group.size : 40), group.data,
             group.size ? " " : "", (int)(series.size < 80 ? series.size : 80), series.data);
    return catalog_string(catalog, text_of(name));
}

/* CPUs are only numbered; their display name adds the word. */
static uint32_t cpu_label(struct catalog *catalog, uint32_t name)
{
    char label[NAME_SIZE];
    snprintf(label, sizeof label, "CPU %.100s", catalog_text(catalog, name).data);
    return catalog_string(catalog, text_of(label));
}

static uint32_t make_lane(struct explorer_pass *pass, const struct lane_key *key)
{
    struct catalog *catalog = &pass->source->base.source.catalog;
    uint32_t instance = catalog_group(catalog, TRACK_NONE, TRACK_INSTANCE, 0, key->instance);
    uint32_t process = catalog_group(catalog, instance, TRACK_PROCESS, key->process, STRING_NONE);
    uint32_t source = make_source(catalog, key, process), name = lane_name(catalog, key);
    uint32_t label = key->list == LIST_CPU ? cpu_label(catalog, name) : STRING_NONE;
    struct track *lane = catalog_add_track(catalog, source, TRACK_LANE);
    lane->name = name;
    lane->display_name = label;
    lane->id = key->thread;
    lane->sort_key = (int64_t)(lane - catalog->tracks.items);
    lane->lane = is_counter(key->list)                         ? LANE_COUNTER
                 : key->is_hardware && key->list != LIST_OTHER ? LANE_STREAM
                                                               : LANE_PLAIN;
    return (uint32_t)(lane - catalog->tracks.items);
}

/* Returns TRACK_NONE when the file has changed. */
static uint32_t find_lane(struct explorer_pass *pass, const struct lane_key *key)
{
    if (key->instance == INTERN_NONE || key->group == INTERN_NONE)
        return TRACK_NONE;
    uint32_t track = lane_table_find(&pass->source->base.lanes, key, sizeof *key);
    if (track == TRACK_NONE && !pass->pusher) {
        track = make_lane(pass, key);
        lane_table_add(&pass->source->base.lanes, key, sizeof *key, track);
    }
    return track;
}

/* The event type of a name; IDMAP_NONE when the file has changed. */
static uint32_t find_type(struct explorer_pass *pass, uint32_t name)
{
    if (name == INTERN_NONE || name == STRING_NONE)
        return name == STRING_NONE ? 0 : IDMAP_NONE;
    if (pass->pusher)
        return idmap_get(&pass->source->base.types, name);
    return named_type(&pass->source->base.source.catalog, &pass->source->base.types, name);
}

/* Texts that are integers according to their key. */
static bool is_number_key(struct text key)
{
    return text_equal(key, TEXT("size")) || text_ends(key, TEXT("_id")) ||
           text_ends(key, TEXT("_idx")) || text_ends(key, TEXT("_gid")) ||
           text_ends(key, TEXT("_size")) || text_ends(key, TEXT("_bytes")) ||
           text_ends(key, TEXT("_ns"));
}

static bool put_member(struct explorer_pass *pass, const struct member *member)
{
    int64_t number;
    if (member->value.kind == JSON_NULL && pass->is_table)
        return true; /* tables have every column in every row */
    if (member->value.kind == JSON_STRING && !member->is_inner &&
        is_number_key(text_at(pass, member->key)) && value_whole(&member->value, &number)) {
        arg_put(array_push(&pass->pusher->args), member->key, ARG_INT, 0, (uint64_t)number);
        return true;
    }
    return pusher_arg(pass->pusher, member->key, &member->value) ||
           json_fail(&pass->walk.in, "a value is larger than 512 MiB");
}

/* Pushes the members of the record that were not used as args. */
static bool put_args(struct explorer_pass *pass)
{
    const struct member *member;
    array_each (member, &pass->record.members) {
        bool is_used =
            !member->is_inner && member->key < RECORD_KNOWN && (pass->used >> member->key & 1);
        if (!is_used && !put_member(pass, member))
            return false;
    }
    return true;
}

/* Adds an event to its track: counts it, or pushes it with the args so far. */
static bool put_event(struct explorer_pass *pass, uint32_t track, uint32_t type, struct when when,
                      double value)
{
    struct time_span *span = &pass->facts->span;
    if (track == TRACK_NONE || type == IDMAP_NONE)
        return json_fail(&pass->walk.in, RECORD_CHANGED);
    int64_t start_ns = span_near(span, when.start_ns);
    int64_t end_ns = span_near(span, add_saturated(start_ns, when.duration_ps / PS_PER_NS));
    if (!pass->pusher) {
        pass->source->base.source.catalog.tracks.items[track].events++;
        span->timeless += !when.has_time;
        if (when.has_time)
            span_add(span, start_ns, end_ns);
        return true;
    }
    struct push push = {.track = track,
                        .type = type,
                        .start_ps = pass->file->start_ps,
                        .duration_ps = when.duration_ps,
                        .occurrences = OCCURRENCES_TIMED,
                        .value = value};
    if (when.has_time) {
        int64_t since_ps = (start_ns - span->first_ns) * PS_PER_NS + when.start_ps;
        push.start_ps = add_saturated(since_ps, pass->file->base_ps);
    }
    int64_t end_ps = add_saturated(push.start_ps, push.duration_ps);
    push.duration_ps = sub_saturated(end_ps, push.start_ps);
    return pusher_add(pass->pusher, &push, pass->err);
}

static bool is_sample(const struct explorer_pass *pass, const struct member *member)
{
    if (member->is_inner)
        return false;
    if (pass->list == LIST_CPU)
        return member->key == KEY_UTIL;
    if (pass->list == LIST_MEMORY)
        return member->key == KEY_USAGE || member->key == KEY_PERCENT_USAGE;
    return text_ends(text_at(pass, member->key), TEXT("_bytes"));
}

/* One event for each value; the remaining members become args of the first. */
static bool put_samples(struct explorer_pass *pass)
{
    struct when when = when_of(pass);
    struct lane_key key = key_of(pass, STRING_NONE);
    bool is_first = true;
    for (size_t i = 0; i < pass->record.members.count; i++) {
        const struct member *member = &pass->record.members.items[i];
        struct json_number number;
        if (!is_sample(pass, member) || !value_number(&member->value, &number))
            continue;
        key.series = member->key;
        for (size_t k = 0; k < pass->record.members.count && is_first && pass->pusher; k++) {
            const struct member *other = &pass->record.members.items[k];
            bool is_used = other->key < RECORD_KNOWN && (pass->used >> other->key & 1);
            if (!is_used && !is_sample(pass, other) && !put_member(pass, other))
                return false;
        }
        is_first = false;
        if (!put_event(pass, find_lane(pass, &key), find_type(pass, key.series), when,
                       json_number_double(&number)))
            return false;
    }
    return true;
}

/* An event of a Kymo document: the catalog has its track, and its type once an event of that type
 * was read. */
static bool put_own(struct explorer_pass *pass, uint32_t track)
{
    struct catalog *catalog = &pass->source->base.source.catalog;
    struct own_tables *own = &pass->facts->own;
    uint32_t name = use_text(pass, KEY_NAME, KEY_NAME), type = 0;
    struct optional number = use_whole(pass, KEY_EVENT_TYPE);
    struct optional start = use_whole(pass, KEY_START_PS),
                    duration = use_whole(pass, KEY_DURATION_PS);
    struct optional occurrences = use_whole(pass, KEY_OCCURRENCES);
    const struct json_value *value = use(pass, KEY_VALUE);
    struct json_number sample = {.is_nonfinite = true};
    if (number.has_value) {
        type = idmap_get(&own->types, (uint64_t)number.number);
        if (type == IDMAP_NONE && !pass->pusher) {
            type = (uint32_t)catalog->types.count;
            *array_push(&catalog->types) = (struct event_type){.name = name};
            idmap_put(&own->types, (uint64_t)number.number, type);
        }
    }
    if (type == IDMAP_NONE)
        return json_fail(&pass->walk.in, RECORD_CHANGED);
    if (!pass->pusher) {
        catalog->tracks.items[track].events++;
        return true;
    }
    const struct member *member;
    array_each (member, &pass->record.members)
        if ((member->is_inner || member->key >= RECORD_KNOWN) && !put_member(pass, member))
            return false;
    struct push push = {
        .track = track,
        .type = type,
        .start_ps = add_saturated(start.number, pass->file->base_ps),
        .duration_ps = duration.number,
        .occurrences =
            occurrences.has_value && !start.has_value ? occurrences.number : OCCURRENCES_TIMED,
        .value = value && value_number(value, &sample) ? json_number_double(&sample) : 0};
    return pusher_add(pass->pusher, &push, pass->err);
}

/* In Kymo's own documents an event names its track; one whose track was dropped falls back to the
 * rules for other documents. Lists other than the events repeat them and are skipped there. */
bool explorer_put(struct explorer_pass *pass)
{
    struct own_tables *own = &pass->facts->own;
    pass->used = 0;
    if (own->is_own) {
        struct optional number = use_whole(pass, KEY_TRACK);
        uint32_t track =
            number.has_value ? idmap_get(&own->tracks, (uint64_t)number.number) : IDMAP_NONE;
        if (pass->list != LIST_EVENTS)
            return true; /* the events have all of it */
        bool is_lane = track != IDMAP_NONE &&
                       pass->source->base.source.catalog.tracks.items[track].level == TRACK_LANE;
        if (is_lane)
            return put_own(pass, track);
        pass->used = 0;
    }
    if (is_counter(pass->list))
        return put_samples(pass);
    uint32_t name = name_of(pass);
    if (name == INTERN_NONE)
        return json_fail(&pass->walk.in, RECORD_CHANGED);
    struct when when = when_of(pass);
    struct lane_key key = key_of(pass, name);
    if (pass->pusher && !put_args(pass))
        return false;
    return put_event(pass, find_lane(pass, &key), find_type(pass, name), when, 0);
}
