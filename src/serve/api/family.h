/*
 * Internal to serve: the events around an event on its own track, and the events it is made of.
 */
#ifndef KYMO_SERVE_API_FAMILY_H
#define KYMO_SERVE_API_FAMILY_H

#include "serve/runs/open_profiles.h"

/* Writes the keys self, parent, child_count and children of an event in the timeline. */
void put_family(struct json *json, struct timeline *timeline, uint32_t track, uint64_t id,
                int64_t start_ps, int64_t end_ps);
/* Writes the keys previous and next: its neighbors in the row that it is drawn in, which may be
 * TIMELINE_NONE. */
void put_neighbors(struct json *json, struct timeline *timeline, uint32_t track, uint32_t row,
                   uint64_t id, int64_t start_ps);

/* Start and duration in picoseconds; runs have no sub-nanosecond fractions. */
const char *event_start_sql(bool is_run);
const char *event_duration_sql(bool is_run);

struct event_place {
    bool is_run, is_module; /* a row of HloRun; of a whole module */
    const char *stream;     /* of a run: the track of its kernels, or empty */
    int64_t track, start_ps, end_ps;
};
/* Writes the keys parts and part_of: a module has operations as parts, an operation has kernels;
 * both are on its stream, within its time. False if a query failed, with the reply set. */
bool put_parts(struct json *json, struct profile_query *query, const struct event_place *event,
               struct reply *reply);

#endif
