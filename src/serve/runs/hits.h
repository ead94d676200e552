/*
 * All results of a search, for drawing them, internal to serve.
 */
#ifndef KYMO_SERVE_RUNS_HITS_H
#define KYMO_SERVE_RUNS_HITS_H

#include "serve/runs/hit_cache.h"
#include "serve/runs/open_profiles.h"

/* The results of a search; NULL with the reply set if it fails. */
struct hits *hits_find(struct request *request, struct reply *reply, struct opened *opened,
                       const char *query);
void hits_release(struct opened *opened, struct hits *hits);

#endif
