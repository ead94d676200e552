/*
 * The engine: a DuckDB database in memory that can read files and change nothing but itself, and
 * how statements are run in it. Shared by the parts of this module.
 */
#ifndef KYMO_SQL_ENGINE_H
#define KYMO_SQL_ENGINE_H

#include "sql/duckdb.h"
#include "sql/sql.h"
#include "sql/tables.h"

#include <pthread.h>

struct engine {
    const struct duckdb *duckdb;
    struct duckdb_database *database;
    struct sql_limits limits; /* set before it is opened */
};

struct sql_database {
    struct engine engine;
    struct sql_tables tables; /* does not change once the database is open */
};

struct sql_connection {
    struct sql_database *database;
    struct duckdb_connection *handle;
    pthread_mutex_t lock;                /* over the next */
    struct duckdb_connection *examining; /* when files are examined, see report.c */
};

bool engine_open(struct engine *engine, struct error *err);
/* A directory for what does not fit into memory. DuckDB makes it when it is needed and removes it;
 * nobody can guess its name and be there first. */
void make_temporary_name(char *path, size_t size);
void engine_close(struct engine *engine);
bool engine_connect(const struct engine *engine, struct duckdb_connection **connection,
                    struct error *err);

/* sql_open in an engine that is open already; it is closed with the database, or on failure. */
bool sql_open_in(struct sql_database **database, const char *directory, const struct engine *engine,
                 struct error *err);

/* Runs one statement; its rows follow with fetch_chunk. On failure the message is DuckDB's, freed
 * with mem_free. */
bool engine_start(const struct duckdb *duckdb, struct duckdb_connection *connection,
                  const char *sql, struct duckdb_result *result, char **message);
/* Runs one statement to its end. */
bool engine_run(const struct duckdb *duckdb, struct duckdb_connection *connection, const char *sql,
                char **message);

/* The text between quotes, as SQL wants it: ' for values, " for names. */
void put_quoted(struct output *out, char quote, const char *text);
/* A path between quotes; or a pattern that matches it alone, which is what read_parquet takes. */
void put_path(struct output *out, const char *path, bool as_pattern);
/* read_parquet(...) over the files of a table. */
void put_files(struct output *out, const struct sql_file *files, size_t count);
/* Ends the text with a NUL. */
const char *output_sql(struct output *out);

/* Messages quote what stands in files: what is no text, or would steer a terminal, is blanked. */
void clean_message(char *text);
/* Reads a table's files from end to end; false with the first that cannot be read. */
bool examine_table(const struct duckdb *duckdb, struct duckdb_connection *connection,
                   const struct sql_table *table, struct error *err);
/* Says what DuckDB's message about a query means for the user. Returns false. */
bool report(struct sql_connection *connection, const char *query, const char *message,
            struct error *err);

#endif
