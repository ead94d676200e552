/*
 * In-memory trace: columns are allocated up front, and workers fill them without locks.
 */
#include "model/memory.h"

static void make_columns(struct memory_trace *trace)
{
    uint64_t samples = 0;
    const struct track *track;
    array_each (track, &trace->catalog->tracks) {
        trace->events += track->events;
        samples += track->lane == LANE_COUNTER ? track->events : 0;
    }
    trace->start_ps = mem_zeroed(trace->events, sizeof *trace->start_ps);
    trace->duration_ps = mem_zeroed(trace->events, sizeof *trace->duration_ps);
    trace->type = mem_zeroed(trace->events, sizeof *trace->type);
    trace->value = mem_zeroed(samples, sizeof *trace->value);
}

/* Slices the columns of all lanes by their event counts, which the catalog knows before the first
 * batch: workers then write to their own ranges without locks. */
static bool begin(struct sink *sink, const struct catalog *catalog, unsigned workers,
                  struct error *err)
{
    (void)workers, (void)err;
    struct memory_trace *trace = (struct memory_trace *)sink;
    trace->catalog = catalog;
    trace->lanes = mem_zeroed(catalog->tracks.count, sizeof *trace->lanes);
    make_columns(trace);
    uint64_t first = 0, first_sample = 0;
    for (size_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        struct lane_events *lane = &trace->lanes[i];
        if (track->events == 0)
            continue;
        lane->count = track->events;
        lane->start_ps = trace->start_ps + first;
        lane->duration_ps = trace->duration_ps + first;
        lane->type = trace->type + first;
        first += lane->count;
        if (track->lane == LANE_COUNTER) {
            lane->value = trace->value + first_sample;
            first_sample += lane->count;
        }
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
    if (batch->count == 0)
        return true;
    mem_write(trace->start_ps, lane->start_ps + batch->first, batch->start_ps,
              batch->count * sizeof *lane->start_ps);
    mem_write(trace->duration_ps, lane->duration_ps + batch->first, batch->duration_ps,
              batch->count * sizeof *lane->duration_ps);
    mem_write(trace->type, lane->type + batch->first, batch->type,
              batch->count * sizeof *lane->type);
    if (batch->has_values)
        mem_write(trace->value, lane->value + batch->first, batch->value,
                  batch->count * sizeof *lane->value);
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
    for (size_t i = 0; trace->lanes && i < trace->catalog->tracks.count; i++)
        mem_free(trace->lanes[i].occurrences);
    mem_free(trace->lanes);
    mem_free(trace->start_ps);
    mem_free(trace->duration_ps);
    mem_free(trace->type);
    mem_free(trace->value);
    pthread_mutex_destroy(&trace->lock);
}
