/*
 * The in-memory trace: columns of the right size are made up front, workers fill them without
 * locks.
 */
#include "trace/memory.h"

static void *column(uint64_t count, size_t size)
{
    return count ? mem_zeroed(count, size) : NULL;
}

static bool begin(struct sink *sink, const struct catalog *catalog, unsigned workers,
                  struct error *err)
{
    (void)workers, (void)err;
    struct memory_trace *trace = (struct memory_trace *)sink;
    trace->catalog = catalog;
    trace->lanes = mem_zeroed(catalog->tracks.count, sizeof *trace->lanes);
    for (size_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        struct lane_events *lane = &trace->lanes[i];
        lane->count = track->events;
        lane->start_ps = column(lane->count, sizeof *lane->start_ps);
        lane->duration_ps = column(lane->count, sizeof *lane->duration_ps);
        lane->type = column(lane->count, sizeof *lane->type);
        if (track->lane == LANE_COUNTER)
            lane->value = column(lane->count, sizeof *lane->value);
    }
    return true;
}

static void keep_occurrences(struct memory_trace *trace, struct lane_events *lane,
                             const struct batch *batch)
{
    pthread_mutex_lock(&trace->lock);
    if (!lane->occurrences) {
        lane->occurrences = mem_alloc(lane->count * sizeof *lane->occurrences);
        for (uint64_t i = 0; i < lane->count; i++)
            lane->occurrences[i] = OCCURRENCES_TIMED;
    }
    pthread_mutex_unlock(&trace->lock);
    memcpy(lane->occurrences + batch->first, batch->occurrences,
           batch->count * sizeof *lane->occurrences);
}

static bool keep(struct sink *sink, const struct batch *batch, unsigned worker, struct error *err)
{
    (void)worker, (void)err;
    struct memory_trace *trace = (struct memory_trace *)sink;
    struct lane_events *lane = &trace->lanes[batch->track];
    memcpy(lane->start_ps + batch->first, batch->start_ps, batch->count * sizeof *lane->start_ps);
    memcpy(lane->duration_ps + batch->first, batch->duration_ps,
           batch->count * sizeof *lane->duration_ps);
    memcpy(lane->type + batch->first, batch->type, batch->count * sizeof *lane->type);
    if (batch->has_values)
        memcpy(lane->value + batch->first, batch->value, batch->count * sizeof *lane->value);
    if (batch->has_occurrences)
        keep_occurrences(trace, lane, batch);
    return true;
}

void memory_trace_init(struct memory_trace *trace)
{
    *trace = (struct memory_trace){.sink = {.begin = begin, .batch = keep}};
    pthread_mutex_init(&trace->lock, NULL);
}

void memory_trace_free(struct memory_trace *trace)
{
    for (size_t i = 0; trace->lanes && i < trace->catalog->tracks.count; i++) {
        struct lane_events *lane = &trace->lanes[i];
        mem_free(lane->start_ps);
        mem_free(lane->duration_ps);
        mem_free(lane->type);
        mem_free(lane->occurrences);
        mem_free(lane->value);
    }
    mem_free(trace->lanes);
    pthread_mutex_destroy(&trace->lock);
}
