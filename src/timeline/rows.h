/*
 * Rows: puts events that come in order of time (by start, the longer first) into rows in which none
 * overlap. An event goes below all events that contain it, into the first row that is free.
 */
#ifndef KYMO_TIMELINE_ROWS_H
#define KYMO_TIMELINE_ROWS_H

#include "base/base.h"

struct row_finder {
    ARRAY(int64_t) ends; /* by row: when its last event ends */
    /* Over many rows, trees of the earliest and the latest end in each half, quarter and so on. */
    int64_t *earliest, *latest;
    size_t leaves;
};

/* The row of the next event. */
uint32_t row_finder_place(struct row_finder *finder, int64_t start_ps, int64_t end_ps);
void row_finder_free(struct row_finder *finder);

#endif
