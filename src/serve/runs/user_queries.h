/*
 * User SQL, internal to serve. Each query runs in a child process within limits.h; few run
 * concurrently, independent of the internal queries.
 */
#ifndef KYMO_SERVE_RUNS_USER_QUERIES_H
#define KYMO_SERVE_RUNS_USER_QUERIES_H

#include "serve/runs/open_profiles.h"

struct queries *queries_create(unsigned cores);
/* Call after the last request. */
void queries_destroy(struct queries *queries);
/* Ends an idle spare child; call periodically. */
void queries_tick(struct queries *queries);

struct rows_format;
/* Runs the query and replies with its result; canceled when the client disconnects. */
void query_reply(struct request *request, struct reply *reply, const struct opened *opened,
                 const char *query, const struct rows_format *format);

#endif
