/*
 * Internal to serve: what the names in a request stand for. The router resolves them once, before
 * it calls the route's handler, and releases them after it; handlers find them in request->subject.
 */
#ifndef KYMO_SERVE_RUNS_SUBJECTS_H
#define KYMO_SERVE_RUNS_SUBJECTS_H

#include "serve/runs/analyses.h"
#include "serve/runs/open_profiles.h"

struct subject {
    char *name;            /* of the profile or run */
    struct opened *opened; /* the profile or rank, held; NULL for runs and names not opened */
    struct fleet_run run;  /* of a dataset; run.path is NULL for other subjects */
};

/* For struct router. request->subject has one element, a SUBJECT_PAIR two. */
bool subject_resolve(struct request *request, struct reply *reply);
void subject_release(struct request *request);

/* Processes a SUBJECT_LOG_RUN unless it has a profile, waits for that, and opens the profile; false
 * with the reply set if it fails or takes too long. */
bool subject_make_ready(struct request *request, struct reply *reply);

#endif
