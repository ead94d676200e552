/*
 * In-memory trace: a sink that stores the times and types of all events, per lane, in source order.
 * Args are not stored: readers that need them read the source again.
 */
#ifndef KYMO_MODEL_MEMORY_H
#define KYMO_MODEL_MEMORY_H

#include "model/batch.h"

/* All NULL when the lane has no events. */
struct lane_events {
    uint64_t count;
    int64_t *start_ps, *duration_ps;
    uint32_t *type;
    int64_t *occurrences; /* NULL when all events of the lane are timed */
    double *value;        /* NULL except for counter lanes */
};

struct memory_trace {
    struct sink sink;
    const struct catalog *catalog;
    struct lane_events *lanes; /* by track */
    pthread_mutex_t lock;      /* for the rare columns allocated late */

    /* The memory of all columns, lane after lane: a few large blocks, which may be scratch files,
     * however many lanes there are. */
    uint64_t events;
    int64_t *start_ps, *duration_ps;
    uint32_t *type;
    double *value;
};

void memory_trace_init(struct memory_trace *trace);
void memory_trace_free(struct memory_trace *trace);

/* The lane's first index in a column over all events of the trace. */
static inline uint64_t lane_first(const struct memory_trace *trace, uint32_t track)
{
    const int64_t *start_ps = trace->lanes[track].start_ps;
    return start_ps ? (uint64_t)(start_ps - trace->start_ps) : 0;
}

static inline int64_t event_end(const struct lane_events *lane, uint64_t event)
{
    int64_t duration = lane->duration_ps[event];
    return lane->start_ps[event] + (duration > 0 ? duration : 0);
}

/* Whether an event has a time, as opposed to aggregating several occurrences. */
static inline bool event_is_timed(const struct lane_events *lane, uint64_t event)
{
    return !lane->occurrences || lane->occurrences[event] == OCCURRENCES_TIMED;
}

#endif
