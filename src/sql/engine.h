/*
 * The engine: an in-memory DuckDB database that reads files and writes none, and functions to run
 * statements in it. Internal to sql.
 */
#ifndef KYMO_SQL_ENGINE_H
#define KYMO_SQL_ENGINE_H

#include "sql/duckdb.h"
#include "sql/sql.h"
#include "sql/tables.h"

#include <pthread.h>

struct sql_engine {
    const struct duckdb *duckdb;
    struct duckdb_database *database;
    struct sql_limits limits; /* set before engine_open */
};

struct sql_database {
    struct sql_engine engine;
    struct sql_tables tables; /* constant once the database is open */
};

struct sql_connection {
    struct sql_database *database;
    struct duckdb_connection *handle;
    pthread_mutex_t lock;                /* guards examining */
    struct duckdb_connection *examining; /* while files are examined, see report.c */
};

bool engine_open(struct sql_engine *engine, struct error *err);
/* A directory for spilled files, with an unpredictable name. DuckDB creates it when needed and
 * removes it. */
void make_temporary_name(char *path, size_t size);
void engine_close(struct sql_engine *engine);
bool engine_connect(const struct sql_engine *engine, struct duckdb_connection **connection,
                    struct error *err);

/* Like sql_open_for, in an open engine; takes ownership, also on failure. */
bool sql_open_in(struct sql_database **database, const char *directory, const char *query,
                 const struct sql_engine *engine, struct error *err);

/* Runs one statement; fetch_chunk returns its rows. On failure *message is DuckDB's; free with
 * mem_free. */
bool engine_start(const struct duckdb *duckdb, struct duckdb_connection *connection,
                  const char *sql, struct duckdb_result *result, char **message);
/* Runs one statement and discards its rows. */
bool engine_run(const struct duckdb *duckdb, struct duckdb_connection *connection, const char *sql,
                char **message);

/* Quotes text as SQL: ' for literals, " for identifiers. */
void put_quoted(struct output *out, char quote, const char *text);
/* Quotes a path, or a glob pattern that matches only it, for read_parquet. */
void put_path(struct output *out, const char *path, bool as_pattern);
/* read_parquet(...) over the files of a table. */
void put_files(struct output *out, const struct sql_file *files, size_t count);
/* NUL-terminates the text and returns it. */
const char *output_sql(struct output *out);

/* Blanks invalid UTF-8 and control characters: messages may quote file contents. */
void clean_message(char *text);
/* Reads a table's files completely; false with the first that fails. */
bool examine_table(const struct duckdb *duckdb, struct duckdb_connection *connection,
                   const struct sql_table *table, struct error *err);
/* Sets err from DuckDB's message; looks for a damaged file as the cause. Returns false. */
bool report(struct sql_connection *connection, const char *query, const char *message,
            struct error *err);

#endif
