/*
 * Results inside this module: made by those who run SQL, walked over by those who asked.
 */
#ifndef KYMO_SQL_RESULT_H
#define KYMO_SQL_RESULT_H

#include "sql/engine.h"

struct sql_vector {
    const union duckdb_text *texts;
    const uint64_t *valid; /* NULL when all are */
};

struct sql_result {
    struct sql_connection *connection;
    const struct duckdb *duckdb;
    char *query; /* as the user wrote it; the SQL that runs may be another */
    ARRAY(struct sql_column) columns;
    struct duckdb_result handle;
    struct duckdb_chunk *chunk;
    struct sql_vector *vectors; /* of the chunk, one for each column */
};

/* Without columns yet. */
struct sql_result *result_new(struct sql_connection *connection, const char *query);
void result_add_column(struct sql_result *result, const char *name, enum sql_kind kind);
/* Runs SQL whose columns are the result's, and all texts. */
bool result_start(struct sql_result *result, const char *sql, struct error *err);

/* Whether the query is one SELECT that changes nothing. */
bool check_select(struct sql_connection *connection, const char *query, struct error *err);

#endif
