/*
 * Busy time of tracks: the time covered by at least one of their events, as intervals in order that
 * neither overlap nor touch. Internal to timeline.
 */
#ifndef KYMO_STORE_TIMELINE_BUSY_H
#define KYMO_STORE_TIMELINE_BUSY_H

#include "base/base.h"

struct interval {
    int64_t start_ps, end_ps;
};

typedef ARRAY(struct interval) interval_list;

/* Adds an event that does not start before those added so far. */
void busy_add(interval_list *busy, int64_t start_ps, int64_t end_ps);

/* The union of all lists, which are freed. */
interval_list busy_union(interval_list *lists, size_t count);

#endif
