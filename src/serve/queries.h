/*
 * Inside serve: SQL of users. Each query runs in a process of its own, within the limits of
 * limits.h; few run at a time, and none has a part in the server's own queries.
 */
#ifndef KYMO_SERVE_QUERIES_H
#define KYMO_SERVE_QUERIES_H

#include "serve/open_profiles.h"

struct queries *queries_create(unsigned cores);
/* After the last request. */
void queries_destroy(struct queries *queries);
/* Ends what is kept for queries that do not come; to be called now and then. */
void queries_tick(struct queries *queries);

struct rows_format;
/* Runs the query and replies with its answer; ends it when the client goes away. */
void query_reply(struct request *request, struct reply *reply, const struct opened *opened,
                 const char *query, const struct rows_format *format);

#endif
