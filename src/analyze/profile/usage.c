/*
 * CPU and memory usage of hosts: counters under the names of the published system profile, in time
 * order.
 */
#include "analyze/profile/analyze.h"

#include <math.h>
#include <stdio.h>

#define CPU_SOURCE     TEXT("cpu_util")
#define MEMORY_SOURCE  TEXT("mem_usage")
#define MEMORY_LANE    TEXT("usage")
#define MEMORY_PERCENT TEXT("percent_usage")

/* The exporter of XPlane adds to the names of planes that are there already: "cpu_util [7]". */
static bool is_named(struct text name, struct text source)
{
    return text_starts(name, source) && (name.size == source.size || name.data[source.size] == ' ');
}

static bool is_counter_of(const struct catalog *catalog, uint32_t lane, struct text source)
{
    const struct track *track = &catalog->tracks.items[lane];
    return track->level == TRACK_LANE && track->lane == LANE_COUNTER && track->events > 0 &&
           is_named(catalog_text(catalog, catalog->tracks.items[track->parent].name), source);
}

/* Counters of XPlane are on lines of one name; their own is that of their samples. */
static uint32_t counter_name(const struct catalog *catalog, uint32_t lane)
{
    const struct track *track = &catalog->tracks.items[lane];
    bool is_shared = text_equal(catalog_text(catalog, track->name), TEXT("_counters_"));
    return is_shared && track->display_name ? track->display_name : track->name;
}

static bool is_memory(const struct catalog *catalog, uint32_t lane, struct text name)
{
    return is_counter_of(catalog, lane, MEMORY_SOURCE) &&
           text_equal(catalog_text(catalog, counter_name(catalog, lane)), name);
}

/* Units by words that names of counters contain, in lower case. */
static const struct {
    const char *word;
    enum counter_unit unit;
} unit_words[] = {
    {"bytes", UNIT_BYTES}, {"percent", UNIT_PERCENT}, {"utilization", UNIT_PERCENT},
    {"watts", UNIT_WATTS}, {"memory", UNIT_BYTES},
};

static enum counter_unit unit_of(struct text name)
{
    for (size_t i = 0; i < sizeof unit_words / sizeof *unit_words; i++)
        for (size_t at = 0; at < name.size; at++) {
            size_t same = 0, size = strlen(unit_words[i].word);
            while (same < size && at + same < name.size &&
                   (name.data[at + same] | 0x20) == unit_words[i].word[same])
                same++;
            if (same == size)
                return unit_words[i].unit;
        }
    return UNIT_NONE;
}

enum counter_unit counter_meaning(const struct catalog *catalog, uint32_t lane,
                                  char label[static 64])
{
    struct text name = catalog_track_label(catalog, lane);
    int size = (int)(name.size < 60 ? text_utf8_prefix(name.data, name.size)
                                    : text_utf8_prefix(name.data, 60));
    if (is_memory(catalog, lane, MEMORY_LANE) || is_memory(catalog, lane, MEMORY_PERCENT)) {
        snprintf(label, 64, "memory in use");
        return is_memory(catalog, lane, MEMORY_LANE) ? UNIT_BYTES : UNIT_PERCENT;
    }
    if (!is_counter_of(catalog, lane, CPU_SOURCE)) {
        snprintf(label, 64, "%.*s", size, name.data);
        return unit_of(name);
    }
    if (text_equal(name, TEXT("average")) || text_equal(name, TEXT("CPU average")))
        snprintf(label, 64, "CPU, mean of all");
    else
        snprintf(label, 64, text_starts(name, TEXT("CPU")) ? "%.*s" : "CPU %.*s", size, name.data);
    return UNIT_PERCENT;
}

static uint32_t instance_of(const struct catalog *catalog, uint32_t lane)
{
    const struct track *track =
        &catalog->tracks.items[catalog_ancestor(catalog, lane, TRACK_INSTANCE)];
    return track->display_name ? track->display_name : track->name;
}

/* The i-th sample of a lane in time order. */
static uint64_t event_at(const struct analysis *analysis, uint32_t lane, uint64_t index)
{
    const uint64_t *order = analysis->lanes[lane].order;
    return order ? order[index] : index;
}

static struct usage_sample sample_at(const struct analysis *analysis, uint32_t lane, uint64_t index)
{
    const struct lane_events *events = &analysis->trace.lanes[lane];
    uint64_t event = event_at(analysis, lane, index);
    mem_touched(3 * sizeof event);
    return (struct usage_sample){
        .time_ps = events->start_ps[event], .value = events->value[event], .percent = NAN};
}

/* All processes of a machine sample the same CPUs and memory, once a second: of samples of about
 * one time, only those of the first process count. */
struct machines {
    struct idmap last; /* the last lane of a machine and counter */
    uint32_t *before;  /* by lane: the one before of the same, or IDMAP_NONE */
};

static void machines_find(struct machines *machines, const struct analysis *analysis,
                          struct text source)
{
    const struct catalog *catalog = analysis->catalog;
    *machines =
        (struct machines){.before = mem_zeroed(catalog->tracks.count, sizeof *machines->before)};
    for (uint32_t lane = 0; lane < catalog->tracks.count; lane++) {
        if (!is_counter_of(catalog, lane, source))
            continue;
        const uint32_t same[2] = {instance_of(catalog, lane), counter_name(catalog, lane)};
        uint64_t key = hash_bytes(same, sizeof same);
        machines->before[lane] = idmap_get(&machines->last, key);
        idmap_put(&machines->last, key, lane);
    }
}

static void machines_free(struct machines *machines)
{
    idmap_free(&machines->last);
    mem_free(machines->before);
}

static bool is_repeated(const struct machines *machines, const struct analysis *analysis,
                        uint32_t lane, int64_t time_ps)
{
    const int64_t interval_ps = 1000000000000;
    for (lane = machines->before[lane]; lane != IDMAP_NONE; lane = machines->before[lane]) {
        uint64_t count = analysis->trace.lanes[lane].count;
        if (sample_at(analysis, lane, 0).time_ps - interval_ps <= time_ps &&
            time_ps <= sample_at(analysis, lane, count - 1).time_ps + interval_ps)
            return true;
    }
    return false;
}

bool analysis_cpu_usage(const struct analysis *analysis, usage_visit *visit, void *context)
{
    const struct catalog *catalog = analysis->catalog;
    struct machines machines;
    bool ok = true;
    machines_find(&machines, analysis, CPU_SOURCE);
    for (uint32_t lane = 0; lane < catalog->tracks.count && ok; lane++) {
        if (!is_counter_of(catalog, lane, CPU_SOURCE))
            continue;
        for (uint64_t i = 0; i < analysis->trace.lanes[lane].count && ok; i++) {
            struct usage_sample sample = sample_at(analysis, lane, i);
            sample.instance = instance_of(catalog, lane);
            sample.name = counter_name(catalog, lane);
            ok = is_repeated(&machines, analysis, lane, sample.time_ps) || visit(context, &sample);
        }
    }
    machines_free(&machines);
    return ok;
}

/* Samples of memory in bytes, joined with those in percent of the same time. */
static bool visit_memory(const struct analysis *analysis, const struct machines *machines,
                         uint32_t lane, uint32_t beside, usage_visit *visit, void *context)
{
    const struct catalog *catalog = analysis->catalog;
    uint64_t others = beside == IDMAP_NONE ? 0 : analysis->trace.lanes[beside].count, other = 0;
    for (uint64_t i = 0; i < analysis->trace.lanes[lane].count; i++) {
        struct usage_sample sample = sample_at(analysis, lane, i);
        while (other < others && sample_at(analysis, beside, other).time_ps < sample.time_ps)
            other++;
        if (other < others && sample_at(analysis, beside, other).time_ps == sample.time_ps)
            sample.percent = sample_at(analysis, beside, other++).value;
        sample.instance = instance_of(catalog, lane);
        sample.name = counter_name(catalog, lane);
        if (!is_repeated(machines, analysis, lane, sample.time_ps) && !visit(context, &sample))
            return false;
    }
    return true;
}

bool analysis_memory_usage(const struct analysis *analysis, usage_visit *visit, void *context)
{
    const struct catalog *catalog = analysis->catalog;
    struct idmap percents = {0}; /* source -> lane */
    struct machines machines;
    bool ok = true;
    machines_find(&machines, analysis, MEMORY_SOURCE);
    for (uint32_t lane = 0; lane < catalog->tracks.count; lane++)
        if (is_memory(catalog, lane, MEMORY_PERCENT))
            idmap_put(&percents, catalog->tracks.items[lane].parent, lane);
    for (uint32_t lane = 0; lane < catalog->tracks.count && ok; lane++)
        if (is_memory(catalog, lane, MEMORY_LANE))
            ok = visit_memory(analysis, &machines, lane,
                              idmap_get(&percents, catalog->tracks.items[lane].parent), visit,
                              context);
    machines_free(&machines);
    idmap_free(&percents);
    return ok;
}
