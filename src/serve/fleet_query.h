/*
 * Queries on the results of a run of many ranks, internal to serve.
 */
#ifndef KYMO_SERVE_FLEET_QUERY_H
#define KYMO_SERVE_FLEET_QUERY_H

#include "serve/fleet_runs.h"
#include "serve/open_profiles.h"

struct run_query {
    struct fleet_run run;
    struct opened *opened;
    struct profile_query query;
};

/* Opens the results of the run that a request names. False, and the reply is set, if they are not
 * there. */
bool run_query_begin(struct run_query *query, struct request *request, struct reply *reply);
void run_query_end(struct run_query *query);
/* Rows of a query as a member of the JSON document, each an object. */
bool put_rows(struct run_query *query, struct json *json, const char *key, struct output *sql,
              struct reply *reply);

#endif
