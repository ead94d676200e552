/*
 * Internal to serve: events that reach over the edges of a time range, and their self time inside
 * it.
 */
#ifndef KYMO_SERVE_API_EDGES_H
#define KYMO_SERVE_API_EDGES_H

#include "serve/runs/open_profiles.h"
#include "store/timeline/timeline.h"

struct edge_event {
    uint64_t id;
    int64_t self_ps; /* within the range */
};

typedef ARRAY(struct edge_event) edge_list;

/* Adds those of the tracks on which events nest, of the table of events. */
bool find_edges(struct timeline *timeline, struct request *request, const uint32_t *tracks,
                size_t count, int64_t from_ps, int64_t to_ps, edge_list *edges, struct error *err);

#endif
