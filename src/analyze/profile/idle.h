/*
 * Inside analyze: why devices were idle. A gap between two pieces of work belongs to the host for
 * as long as the call that launched the second had not returned, and there to what the host did.
 */
#ifndef KYMO_ANALYZE_PROFILE_IDLE_H
#define KYMO_ANALYZE_PROFILE_IDLE_H

#include "analyze/profile/findings.h"

enum cause {
    CAUSE_HOST,       /* the host did something else, for longer than a launch takes */
    CAUSE_LAUNCH,     /* the host launched, or was about to */
    CAUSE_SYNC,       /* the host had waited for the device, so that nothing was queued */
    CAUSE_COPY,       /* the same, in a synchronous copy */
    CAUSE_SET,        /* the same, in a synchronous memset */
    CAUSE_ALLOCATION, /* it allocated memory of the driver */
    CAUSE_INPUT,      /* it waited for data */
    CAUSE_COMPILE,    /* it compiled */
    CAUSE_PROFILER,   /* the profiler did its work */
    CAUSE_QUEUED,     /* the work was launched already: the device's own latency */
    CAUSE_BLOCKED,    /* the same, but for longer */
    CAUSE_UNKNOWN,    /* the capture does not say what launched the work */
    CAUSES,
};

enum { MAX_GAPS_KEPT = MAX_EVIDENCE };

struct cause_gap {
    int64_t cost_ps;
    int64_t from_ps, to_ps;
    struct event_ref next;
};

struct cause_totals {
    int64_t cost_ps;
    uint64_t gaps;                           /* of which it is the main cause */
    int64_t *by_type;                        /* of the host's events */
    int64_t unrecorded_ps;                   /* without an event of the host */
    struct cause_gap longest[MAX_GAPS_KEPT]; /* by cost */
};

struct idle {
    struct cause_totals causes[CAUSES];
};

void idle_measure(struct idle *idle, struct rules *rules);
/* A safeguard: causes together cost at most the time that the devices idled. Takes what is above
 * from the costliest; returns how much that was, 0 unless there is a defect here. */
int64_t idle_limit(struct idle *idle, int64_t idle_ps);
void idle_free(struct idle *idle);

#endif
