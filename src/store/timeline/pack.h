/*
 * Packs events into blocks of few bits, as format.h describes. Internal to the writer.
 */
#ifndef KYMO_STORE_TIMELINE_PACK_H
#define KYMO_STORE_TIMELINE_PACK_H

#include "base/wire/wire.h"

/* Events of one row, or of all rows of a track, row after row. */
struct events {
    size_t count;
    int64_t *start_ps, *end_ps;
    uint64_t *number;
    uint32_t *name;
    double *value; /* counters only */
};

/* Appends a block of `count` events from `first` on; the first gap starts at before_ps. */
void block_put(struct output *out, const struct events *events, size_t first, size_t count,
               int64_t before_ps);

#endif
