/*
 * Queries on the results of a run of many ranks, internal to serve.
 */
#ifndef KYMO_SERVE_RUNS_RUN_QUERY_H
#define KYMO_SERVE_RUNS_RUN_QUERY_H

#include "serve/runs/subjects.h"

/* Queries on the results of the run that a request is about; they are made if need be. */
struct run_query {
    const struct fleet_run *run;
    char *directory; /* of the results */
    struct opened *opened;
    struct profile_query query;
};
bool run_query_begin(struct run_query *query, struct request *request, struct reply *reply);
void run_query_end(struct run_query *query);

/* Rows of a query as a member of the JSON document: a list of objects. */
bool put_rows(struct run_query *query, struct json *json, const char *key, struct output *sql,
              struct reply *reply);
/* The same of a query of a .sql file with blanks. */
bool put_filled(struct run_query *query, struct json *json, const char *key, const char *sql,
                const struct sql_blank *blanks, size_t count, struct reply *reply);
/* The values of a row as members of an object. */
void put_values(struct json *json, const struct sql_result *result, size_t row);

/* The step that the third parameter names; false with the reply set if it is not a number. */
bool read_step(const struct request *request, struct reply *reply, uint64_t *step);

#endif
