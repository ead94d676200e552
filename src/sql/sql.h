/*
 * sql: SELECTs over a processed profile, a directory of Parquet files. DuckDB does the work; it
 * reads the profile's files and nothing else, and writes none. A database may have several
 * connections, each for one thread at a time.
 */
#ifndef KYMO_SQL_H
#define KYMO_SQL_H

#include "base/base.h"
#include "sql/child.h"

struct sql_database;
struct sql_connection;
struct sql_result;

/* A damaged table does not keep the others from being used; whoever names it is told. */
bool sql_open(struct sql_database **database, const char *directory, struct error *err);
bool sql_open_within(struct sql_database **database, const char *directory,
                     const struct sql_limits *limits, struct error *err);
/* After its connections. */
void sql_close(struct sql_database *database);

bool sql_connect(struct sql_connection **connection, struct sql_database *database,
                 struct error *err);
/* After its results. */
void sql_disconnect(struct sql_connection *connection);
/* Ends the query that is running, if one is; for other threads than that of the connection. */
void sql_interrupt(struct sql_connection *connection);

/*
 * Runs one SELECT (or DESCRIBE, SHOW, SUMMARIZE, EXPLAIN). Rows are worked out while they are
 * walked over, so an error may come late. A connection has one result at a time.
 */
bool sql_query(struct sql_result **result, struct sql_connection *connection, const char *query,
               struct error *err);
/* The tables with their numbers of rows; and with what is wrong, if something is with any. */
bool sql_list(struct sql_result **result, struct sql_connection *connection, struct error *err);
void sql_free(struct sql_result *result);

/* How a column's values, which are all texts, are to be understood. */
enum sql_kind {
    SQL_TEXT,
    SQL_NUMBER,  /* decimal digits of any length, or nan, inf, -inf */
    SQL_BOOLEAN, /* true or false */
    SQL_JSON,    /* lists, structs and maps; NaN, Infinity and -Infinity may stand in it */
    SQL_PLAN,    /* of EXPLAIN: a picture of several lines */
};

struct sql_column {
    char *name;
    enum sql_kind kind;
};

const struct sql_column *sql_columns(const struct sql_result *result, size_t *count);
/* The next few rows, none at the end. They are valid until the next call. */
bool sql_next(struct sql_result *result, size_t *rows, struct error *err);
/* .data is NULL for NULL. */
struct text sql_value(const struct sql_result *result, size_t row, size_t column);

#endif
