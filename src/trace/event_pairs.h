/*
 * Pairs: which start and which stop are the two ends of one event, where a source writes them as
 * records of their own. Those with the same key may be a pair; a stop ends the latest start of its
 * key that is still open.
 */
#ifndef KYMO_TRACE_EVENT_PAIRS_H
#define KYMO_TRACE_EVENT_PAIRS_H

#include "base/base.h"

struct pair_mark {
    uint64_t key; /* a hash of what both ends share */
    int64_t time;
    uint64_t place; /* of the record in the source, doubled; plus one for a stop */
};

struct event_pair {
    uint64_t start, stop; /* places of the records */
};

struct event_pairs {
    ARRAY(struct pair_mark) marks;  /* until the pairs are made */
    ARRAY(struct event_pair) pairs; /* by start */
    ARRAY(uint64_t) lone_stops;     /* by place */
    uint64_t lone_starts;
};

/* A zeroed struct is empty. Places are below 2^63, and tell which of two records of one time comes
 * first. */
void event_pairs_add(struct event_pairs *pairs, uint64_t key, int64_t time, uint64_t place,
                     bool is_stop);
void event_pairs_make(struct event_pairs *pairs);
void event_pairs_free(struct event_pairs *pairs);

/* The stop of a start; false when it has none. */
bool event_pairs_stop(const struct event_pairs *pairs, uint64_t start, uint64_t *stop);
bool event_pairs_is_lone_stop(const struct event_pairs *pairs, uint64_t stop);

#endif
