/*
 * Pairs start and stop records into events, for sources that record them separately. Records with
 * the same key can be a pair; a stop ends the latest open start of its key.
 */
#ifndef KYMO_MODEL_EVENT_PAIRS_H
#define KYMO_MODEL_EVENT_PAIRS_H

#include "base/base.h"

struct pair_mark {
    uint64_t key; /* a hash of what both ends share */
    int64_t time;
    uint64_t position; /* of the record in the source, doubled; plus one for a stop */
};

struct event_pair {
    uint64_t start, stop; /* positions of the records */
};

struct event_pairs {
    ARRAY(struct pair_mark) marks;   /* until they are paired */
    ARRAY(struct event_pair) pairs;  /* sorted by start */
    ARRAY(uint64_t) unmatched_stops; /* sorted by position */
    uint64_t unmatched_starts;
};

/* A zeroed struct is empty. Positions are below 2^63, and order records of equal time. */
void event_pairs_add(struct event_pairs *pairs, uint64_t key, int64_t time, uint64_t position,
                     bool is_stop);
void event_pairs_make(struct event_pairs *pairs);
void event_pairs_free(struct event_pairs *pairs);

/* The stop of a start; false when it has none. */
bool event_pairs_stop(const struct event_pairs *pairs, uint64_t start, uint64_t *stop);
bool event_pairs_is_unmatched_stop(const struct event_pairs *pairs, uint64_t stop);

#endif
