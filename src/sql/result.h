/*
 * Query results, internal to sql.
 */
#ifndef KYMO_SQL_RESULT_H
#define KYMO_SQL_RESULT_H

#include "sql/engine.h"

struct sql_vector {
    union {
        const union duckdb_text *texts;
        const double *numbers; /* of sql_ask_numbers */
    };
    const uint64_t *valid; /* bitmap; NULL if all are valid */
};

struct sql_result {
    struct sql_connection *connection;
    const struct duckdb *duckdb;
    char *query; /* as the user wrote it, without the outer query */
    ARRAY(struct sql_column) columns;
    struct duckdb_result handle;
    struct duckdb_chunk *chunk;
    struct sql_vector *vectors; /* of the chunk, one per column */
    bool has_numbers;           /* not texts */
    bool is_at_end;             /* all rows were fetched */
    size_t peeked;              /* rows of the chunk, if sql_next has yet to return them */
};

/* Initially without columns. */
struct sql_result *result_new(struct sql_connection *connection, const char *query);
void result_add_column(struct sql_result *result, const char *name, enum sql_kind kind);
/* Runs SQL that returns the result's columns, all VARCHAR; a result without columns gets those. */
bool result_start(struct sql_result *result, const char *sql, struct error *err);

/* Whether the query is a single read-only SELECT. */
bool check_select(struct sql_connection *connection, const char *query, struct error *err);

#endif
