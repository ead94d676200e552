/*
 * Events of Neuron's runtime: start and stop pairs, clocks, lanes.
 */
#include "import/neuron_systrace/runtime.h"

#include <stdio.h>

enum { NAME_SIZE = 64 };

/* Identifies a clock or a lane; compared by its bytes, so it has no padding. */
struct core_key {
    int64_t core, physical_core, thread;
    uint32_t process;
    uint8_t has_core, has_physical_core, is_hardware, has_thread;
};
static_assert(sizeof(struct core_key) == 32, "has no padding");

void runtime_facts_init(struct runtime_facts *facts)
{
    *facts = (struct runtime_facts){0};
    intern_init(&facts->clock_keys);
}

void runtime_facts_free(struct runtime_facts *facts)
{
    event_pairs_free(&facts->pairs);
    span_free(&facts->span);
    intern_free(&facts->clock_keys);
    struct clock_fit *clock;
    array_each (clock, &facts->clocks)
        clock_fit_free(clock);
    array_free(&facts->clocks);
}

static struct core_key key_of(const struct runtime_record *record)
{
    return (struct core_key){.has_core = record->core.has_value,
                             .core = record->core.number,
                             .has_physical_core = record->physical_core.has_value,
                             .physical_core = record->physical_core.number};
}

static struct text bytes_of(const struct core_key *key)
{
    return (struct text){(const char *)key, sizeof *key};
}

static bool is_sync_point(const struct catalog *catalog, const struct runtime_record *record)
{
    return text_equal(catalog_text(catalog, record->name), TEXT("timestamp_sync_point"));
}

/* The first pass keeps only what later passes cannot know: which starts and stops belong together,
 * the range of times, and the sync points of each core's clock. */
void runtime_gather(struct runtime_facts *facts, const struct catalog *catalog,
                    const struct runtime_record *record)
{
    if (record->time.has_value)
        span_sample(&facts->span, record->time.number);
    if (record->phase != PHASE_POINT) {
        struct {
            struct core_key core;
            uint64_t tracking, name;
        } shared = {{.core = record->core.number, .has_core = record->core.has_value},
                    record->tracking,
                    record->name};
        event_pairs_add(&facts->pairs, hash_bytes(&shared, sizeof shared), record->time.number,
                        record->position, record->phase == PHASE_STOP);
    }
    struct optional host = record->host_time.has_value ? record->host_time : record->time;
    if (!is_sync_point(catalog, record) || !record->device_time.has_value || !host.has_value)
        return;
    struct core_key key = key_of(record);
    uint32_t clock = intern_add(&facts->clock_keys, bytes_of(&key));
    while (facts->clocks.count <= clock)
        *array_push(&facts->clocks) = (struct clock_fit){0};
    clock_fit_add(&facts->clocks.items[clock],
                  (struct clock_point){.device_ns = record->device_time.number,
                                       .host_ns = host.number,
                                       .has_run = record->run.has_value,
                                       .run = (uint64_t)record->run.number});
}

void runtime_settle(struct runtime_facts *facts)
{
    event_pairs_make(&facts->pairs);
    struct clock_fit *clock;
    array_each (clock, &facts->clocks)
        clock_fit_finish(clock);
    span_settle(&facts->span);
}

static void count_message(struct catalog *catalog, uint32_t file, uint64_t count,
                          const char *singular, const char *plural)
{
    if (count > 0)
        import_message(catalog, file, false, "%llu %s", (unsigned long long)count,
                       count == 1 ? singular : plural);
}

void runtime_messages(const struct runtime_facts *facts, struct catalog *catalog, uint32_t file)
{
    count_message(catalog, file, facts->pairs.unmatched_starts, "event has a start but no stop",
                  "events have a start but no stop");
    count_message(catalog, file, facts->pairs.unmatched_stops.count,
                  "event has a stop but no start", "events have a stop but no start");
    span_messages(&facts->span, catalog, file);
}

/* The clock of the physical core, otherwise of the logical one; NULL without sync points. */
static const struct clock_fit *clock_of(const struct runtime_facts *facts,
                                        const struct runtime_record *record)
{
    struct core_key key = key_of(record);
    uint32_t clock = intern_find(&facts->clock_keys, bytes_of(&key));
    if (clock == INTERN_NONE && key.has_physical_core) {
        key.has_physical_core = 0;
        key.physical_core = 0;
        clock = intern_find(&facts->clock_keys, bytes_of(&key));
    }
    return clock == INTERN_NONE ? NULL : &facts->clocks.items[clock];
}

static int64_t host_time(const struct clock_fit *clock, const struct optional *run,
                         int64_t device_ns)
{
    return run->has_value ? clock_fit_host_ns_of_run(clock, device_ns, (uint64_t)run->number)
                          : clock_fit_host_ns(clock, device_ns);
}

void runtime_times(const struct runtime_facts *facts, const struct catalog *catalog,
                   struct runtime_event *event)
{
    const struct runtime_record *start = &event->start;
    const struct runtime_record *stop = event->has_stop ? &event->stop : start;
    bool is_sync = is_sync_point(catalog, start);
    bool is_hardware = neuron_is_hardware(catalog_text(catalog, start->name));
    const struct clock_fit *clock = is_hardware && !is_sync ? clock_of(facts, start) : NULL;
    event->is_adjusted = clock && start->device_time.has_value && stop->device_time.has_value;
    event->has_time = event->is_adjusted || start->time.has_value;
    if (event->is_adjusted) {
        event->start_ns = host_time(clock, &start->run, start->device_time.number);
        event->end_ns = host_time(clock, &start->run, stop->device_time.number);
    } else if (is_sync && start->host_time.has_value) {
        event->has_time = true;
        event->start_ns = event->end_ns = start->host_time.number;
    } else {
        event->start_ns = start->time.number;
        event->end_ns = stop->time.has_value ? stop->time.number : start->time.number;
    }
    if (event->end_ns < event->start_ns)
        event->end_ns = event->start_ns;
}

static uint32_t make_lane(struct catalog *catalog, uint32_t process, const struct core_key *key)
{
    char name[NAME_SIZE];
    uint32_t source = neuron_source(catalog, process, key->is_hardware, key->has_core, key->core);
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
    if (key->has_physical_core)
        lane->id = key->physical_core;
    else if (key->is_hardware && key->has_core)
        lane->id = key->core;
    else
        lane->id = key->thread; /* 0: unknown */
    lane->sort_key = lane->id;
    return (uint32_t)(lane - catalog->tracks.items);
}

/* Of the lanes of a core, only the first is labeled by the core alone. */
static void label_thread(struct lane_table *lanes, struct catalog *catalog,
                         const struct core_key *key, uint32_t track)
{
    enum { FIRST = 2 };
    struct core_key first = *key;
    char label[NAME_SIZE];
    first.has_thread = FIRST;
    first.thread = 0;
    if (lane_table_find(lanes, &first, sizeof first) == TRACK_NONE) {
        lane_table_add(lanes, &first, sizeof first, track);
        return;
    }
    snprintf(label, sizeof label, "%.32s thread %lld",
             catalog_text(catalog, catalog->tracks.items[track].name).data, (long long)key->thread);
    catalog->tracks.items[track].display_name = catalog_string(catalog, text_of(label));
}

uint32_t runtime_lane(struct lane_table *lanes, struct catalog *catalog, uint32_t process,
                      const struct runtime_record *record, bool may_add)
{
    struct core_key key = key_of(record);
    key.process = process;
    key.is_hardware = neuron_is_hardware(catalog_text(catalog, record->name));
    if (!key.is_hardware) {
        key.has_physical_core = 0;
        key.physical_core = 0;
        key.has_thread = record->thread.has_value;
        key.thread = record->thread.number;
    }
    uint32_t track = lane_table_find(lanes, &key, sizeof key);
    if (track == TRACK_NONE && may_add) {
        track = make_lane(catalog, process, &key);
        lane_table_add(lanes, &key, sizeof key, track);
        if (key.has_thread)
            label_thread(lanes, catalog, &key, track);
    }
    return track;
}
