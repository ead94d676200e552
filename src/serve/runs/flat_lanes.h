/*
 * Internal to serve: lanes of the timeline as the analysis sees them.
 */
#ifndef KYMO_SERVE_RUNS_FLAT_LANES_H
#define KYMO_SERVE_RUNS_FLAT_LANES_H

#include "model/model.h"
#include "store/tables/store.h"
#include "store/timeline/timeline.h"

/* Kernels on a stream, and the operations made of them, may overlap slightly, but do not contain
 * each other. */
static inline bool lane_is_flat(const struct timeline *timeline, uint32_t number)
{
    const struct timeline_track *track = timeline_track_at(timeline, number);
    struct text table = timeline_name_at(timeline, track->table);
    return (track->level == TRACK_LANE && track->role == LANE_STREAM) ||
           text_equal(table, text_of(table_schemas[TABLE_RUNS].name));
}

#endif
