/*
 * sql: queries over a processed profile, a directory of Parquet files, with DuckDB. It reads only
 * the files of the profile and writes none. A database may have several connections, each for one
 * thread at a time.
 */
#ifndef KYMO_SQL_SQL_H
#define KYMO_SQL_SQL_H

#include "base/base.h"
#include "sql/child.h"

/* Marks a directory as a dataset: tables of many ranks, in directories of their own. */
#define DATASET_FILE "_dataset.json"

struct sql_database;
struct sql_connection;
struct sql_result;

/* Opens even if tables are damaged: queries that use one fail. */
bool sql_open(struct sql_database **database, const char *directory, struct error *err);
bool sql_open_within(struct sql_database **database, const char *directory,
                     const struct sql_limits *limits, struct error *err);
/* A database without tables, for the program's own statements, which create views and write files.
 * Only files below the directories, which are absolute, are read and written. */
bool sql_open_directories(struct sql_database **database, const char *const *directories,
                          size_t count, const struct sql_limits *limits, struct error *err);
/* For one query: of a dataset, opens only the tables that it names, as each takes time in
 * proportion to the ranks. All if the query is NULL or names none. */
bool sql_open_for(struct sql_database **database, const char *directory, const char *query,
                  struct error *err);
/* Close its connections first. */
void sql_close(struct sql_database *database);

bool sql_connect(struct sql_connection **connection, struct sql_database *database,
                 struct error *err);
/* Free its results first. */
void sql_disconnect(struct sql_connection *connection);
/* Interrupts the running query, if any; callable from other threads. */
void sql_interrupt(struct sql_connection *connection);

/*
 * Runs one SELECT (or DESCRIBE, SHOW, SUMMARIZE, EXPLAIN). Rows are computed while they are
 * fetched, so sql_next may fail too. A connection has one result at a time.
 */
bool sql_query(struct sql_result **result, struct sql_connection *connection, const char *query,
               struct error *err);
/* The same for a SELECT that the program itself wrote: it is not checked, since checking a long one
 * takes as long as running it. It may contain users' text as quoted values. */
bool sql_ask(struct sql_result **result, struct sql_connection *connection, const char *query,
             struct error *err);
/* The same with all columns of kind SQL_TEXT: the query is planned once, not twice. */
bool sql_ask_texts(struct sql_result **result, struct sql_connection *connection, const char *query,
                   struct error *err);
/* The same with all columns as numbers, for many rows: read them with sql_numbers. */
bool sql_ask_numbers(struct sql_result **result, struct sql_connection *connection,
                     const char *query, struct error *err);
/* Runs any statement of the program's own and discards its rows. */
bool sql_run(struct sql_connection *connection, const char *statement, struct error *err);
/* Puts a query of a .sql file with what is filled in for each {NAME} in it: text, which is put as
 * it is, or, without one, the number. */
struct sql_blank {
    const char *name;
    const char *text;
    int64_t number;
};
void sql_fill(struct output *out, const char *query, const struct sql_blank *blanks, size_t count);
/* Quotes text as SQL: ' for literals, " for identifiers. */
void sql_put_quoted(struct output *out, char quote, const char *text);
/* Quotes the path of a file to be read, which DuckDB takes as a pattern. */
void sql_put_path(struct output *out, const char *path);
/* Lists the tables with row counts and, if any are unusable, their problems. */
bool sql_list(struct sql_result **result, struct sql_connection *connection, struct error *err);
void sql_free(struct sql_result *result);

/* How to interpret a column's values, which are all strings. */
enum sql_kind {
    SQL_TEXT,
    SQL_NUMBER,  /* decimal digits of any length, or nan, inf, -inf */
    SQL_BOOLEAN, /* true or false */
    SQL_JSON,    /* lists, structs and maps; may contain NaN, Infinity and -Infinity */
    SQL_PLAN,    /* of EXPLAIN: a multi-line drawing */
};

struct sql_column {
    char *name;
    enum sql_kind kind;
};

const struct sql_column *sql_columns(const struct sql_result *result, size_t *count);
/* Fetches the next rows, 0 at the end. Values are valid until the next call. */
bool sql_next(struct sql_result *result, size_t *rows, struct error *err);
/* Whether sql_next would return no rows. */
bool sql_is_empty(struct sql_result *result, bool *is_empty, struct error *err);
/* .data is NULL for SQL NULL. */
struct text sql_value(const struct sql_result *result, size_t row, size_t column);
/* A column of the rows of sql_ask_numbers; values for SQL NULL are undefined. */
const double *sql_numbers(const struct sql_result *result, size_t column);

#endif
