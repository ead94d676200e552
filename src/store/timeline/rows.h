/*
 * Assigns events, given in time order (by start, longer first), to rows without overlaps. An event
 * goes below all events that contain it, into the first free row.
 */
#ifndef KYMO_STORE_TIMELINE_ROWS_H
#define KYMO_STORE_TIMELINE_ROWS_H

#include "base/base.h"

struct row_finder {
    ARRAY(int64_t) ends; /* by row: end of its last event */
    /* For many rows: segment trees of the earliest and latest end. */
    int64_t *earliest, *latest;
    size_t leaves;
};

/* The row of the next event. */
uint32_t row_finder_assign(struct row_finder *finder, int64_t start_ps, int64_t end_ps);
void row_finder_free(struct row_finder *finder);

#endif
