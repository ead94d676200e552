/*
 * Internal to serve: the events around an event on its own track.
 */
#ifndef KYMO_SERVE_FAMILY_H
#define KYMO_SERVE_FAMILY_H

#include "serve/server.h"
#include "timeline/timeline.h"

/* Writes the keys self, parent, child_count and children of an event in the timeline. */
void put_family(struct json *json, struct timeline *timeline, uint32_t track, uint64_t id,
                int64_t start_ps, int64_t end_ps);

#endif
