/*
 * CPU and memory usage of hosts: counters under the names of the published system profile, in time
 * order.
 */
#include "analyze/analyze.h"

#define CPU_SOURCE     TEXT("cpu_util")
#define MEMORY_SOURCE  TEXT("mem_usage")
#define MEMORY_LANE    TEXT("usage")
#define MEMORY_PERCENT TEXT("percent_usage")

static bool is_counter_of(const struct catalog *catalog, uint32_t lane, struct text source)
{
    const struct track *track = &catalog->tracks.items[lane];
    return track->level == TRACK_LANE && track->lane == LANE_COUNTER && track->events > 0 &&
           text_equal(catalog_text(catalog, catalog->tracks.items[track->parent].name), source);
}

static bool is_memory(const struct catalog *catalog, uint32_t lane, struct text name)
{
    return is_counter_of(catalog, lane, MEMORY_SOURCE) &&
           text_equal(catalog_text(catalog, catalog->tracks.items[lane].name), name);
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
    return (struct usage_sample){.time_ps = events->start_ps[event], .value = events->value[event]};
}

bool analysis_cpu_usage(const struct analysis *analysis, usage_visit *visit, void *context)
{
    const struct catalog *catalog = analysis->catalog;
    for (uint32_t lane = 0; lane < catalog->tracks.count; lane++) {
        if (!is_counter_of(catalog, lane, CPU_SOURCE))
            continue;
        for (uint64_t i = 0; i < analysis->trace.lanes[lane].count; i++) {
            struct usage_sample sample = sample_at(analysis, lane, i);
            sample.instance = instance_of(catalog, lane);
            sample.name = catalog->tracks.items[lane].name;
            if (!visit(context, &sample))
                return false;
        }
    }
    return true;
}

/* Samples of memory in bytes, joined with those in percent of the same time. */
static bool visit_memory(const struct analysis *analysis, uint32_t lane, uint32_t beside,
                         usage_visit *visit, void *context)
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
        sample.name = catalog->tracks.items[lane].name;
        if (!visit(context, &sample))
            return false;
    }
    return true;
}

bool analysis_memory_usage(const struct analysis *analysis, usage_visit *visit, void *context)
{
    const struct catalog *catalog = analysis->catalog;
    struct idmap percents = {0}; /* source -> lane */
    bool ok = true;
    for (uint32_t lane = 0; lane < catalog->tracks.count; lane++)
        if (is_memory(catalog, lane, MEMORY_PERCENT))
            idmap_put(&percents, catalog->tracks.items[lane].parent, lane);
    for (uint32_t lane = 0; lane < catalog->tracks.count && ok; lane++)
        if (is_memory(catalog, lane, MEMORY_LANE))
            ok = visit_memory(analysis, lane,
                              idmap_get(&percents, catalog->tracks.items[lane].parent), visit,
                              context);
    idmap_free(&percents);
    return ok;
}
