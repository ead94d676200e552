/*
 * The in-memory trace: a sink that keeps the times and types of all events, per lane, in the order
 * of the source. It does not keep args: what needs them reads the source once more.
 */
#ifndef KYMO_TRACE_MEMORY_H
#define KYMO_TRACE_MEMORY_H

#include "trace/batch.h"

/* All NULL when the lane has no events. */
struct lane_events {
    uint64_t count;
    int64_t *start_ps, *duration_ps;
    uint32_t *type;
    int64_t *occurrences; /* NULL when all events of the lane are timed */
    double *value;        /* NULL but for counter lanes */
};

struct memory_trace {
    struct sink sink;
    const struct catalog *catalog;
    struct lane_events *lanes; /* by track */
    pthread_mutex_t lock;      /* for the rare column that is made late */

    /* What the lanes' columns lie in, lane behind lane: few large blocks, which need not be in
     * memory, however many lanes there are. */
    uint64_t events;
    int64_t *start_ps, *duration_ps;
    uint32_t *type;
    double *value;
};

void memory_trace_init(struct memory_trace *trace);
void memory_trace_free(struct memory_trace *trace);

/* Where the lane begins in a column that has a place for every event of the trace. */
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

/* An event that happened at a time, as opposed to one that sums up several. */
static inline bool event_is_timed(const struct lane_events *lane, uint64_t event)
{
    return !lane->occurrences || lane->occurrences[event] == OCCURRENCES_TIMED;
}

#endif
