/*
 * Opens a profile as a DuckDB database: one view per table, then external access is disabled.
 */
#include "sql/sql.h"

#include "sql/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The table of the ranks of a dataset. */
static bool is_rank_table(const struct sql_table *table)
{
    return table->files[0].is_partitioned && strcmp(table->name, "Rank") == 0;
}

/* Creates the view of a table; on failure sets its problem. */
static void make_view(const struct sql_engine *engine, struct duckdb_connection *connection,
                      struct sql_table *table)
{
    struct output sql;
    struct error problem;
    char *message;
    if (table->problem)
        return;
    output_memory(&sql);
    output_text(&sql, "CREATE VIEW ");
    put_quoted(&sql, '"', table->name);
    output_text(&sql, " AS FROM ");
    put_files(&sql, table->files, table->file_count);
    /* Only of listed ranks: files of others are being written or removed. */
    if (table->files[0].is_partitioned && !is_rank_table(table))
        output_text(&sql, " SEMI JOIN Rank USING (run, instance, rank)");
    if (!engine_run(engine->duckdb, connection, output_sql(&sql), &message)) {
        message[strcspn(message, "\n")] = '\0';
        error_set(&problem, "%s", message);
        clean_message(problem.text);
        examine_table(engine->duckdb, connection, table, &problem);
        table_set_problem(table, &problem);
        mem_free(message);
    }
    output_discard(&sql);
}

/* Restricts file access to the tables' files and locks the configuration. */
static bool lock_down(const struct sql_engine *engine, struct duckdb_connection *connection,
                      const struct sql_tables *tables, struct error *err)
{
    struct output paths;
    bool is_dataset = tables->files.items[0].is_partitioned;
    output_memory(&paths);
    output_text(&paths, is_dataset ? "SET allowed_directories = [" : "SET allowed_paths = [");
    const struct sql_file *file;
    array_each (file, &tables->files) {
        put_path(&paths, file->path, false);
        output_text(&paths, ", ");
        put_path(&paths, file->path, true);
        output_text(&paths, ", ");
    }
    output_char(&paths, ']');
    /* Caching Parquet metadata saves 70 of 155 ms for reading one of 100 M events. */
    const char *const statements[] = {
        output_sql(&paths), "SET GLOBAL parquet_metadata_cache = true",
        "SET enable_external_access = false", "SET lock_configuration = true"};
    bool ok = true;
    for (size_t i = 0; i < sizeof statements / sizeof *statements && ok; i++) {
        char *message;
        ok = engine_run(engine->duckdb, connection, statements[i], &message);
        if (!ok) {
            error_set(err, "%s", message);
            mem_free(message);
        }
    }
    output_discard(&paths);
    return ok;
}

static bool fill(struct sql_database *database, struct error *err)
{
    struct duckdb_connection *connection = NULL;
    if ((!database->engine.database && !engine_open(&database->engine, err)) ||
        !engine_connect(&database->engine, &connection, err))
        return false;
    struct sql_table *table;
    array_each (table, &database->tables.tables) /* which the views of the other tables use */
        if (is_rank_table(table))
            make_view(&database->engine, connection, table);
    array_each (table, &database->tables.tables)
        if (!is_rank_table(table))
            make_view(&database->engine, connection, table);
    bool ok = lock_down(&database->engine, connection, &database->tables, err);
    database->engine.duckdb->disconnect(&connection);
    return ok;
}

/* DuckDB gets paths as SQL, which must be UTF-8, and as glob patterns, which cannot contain a
 * backslash. */
static bool check_path(const char *path, struct error *err)
{
    if (text_utf8_prefix(path, strlen(path)) != strlen(path))
        return error_in_file(err, path, "DuckDB cannot open it: the path is not UTF-8");
    if (strchr(path, '\\') && strpbrk(path, "*?["))
        return error_in_file(
            err, path,
            "DuckDB cannot open it: the path contains both a backslash and one of * ? [");
    return true;
}

bool sql_open(struct sql_database **database, const char *directory, struct error *err)
{
    return sql_open_within(database, directory, &(struct sql_limits){0}, err);
}

bool sql_open_for(struct sql_database **database, const char *directory, const char *query,
                  struct error *err)
{
    return sql_open_in(database, directory, query, &(struct sql_engine){0}, err);
}

bool sql_open_within(struct sql_database **database, const char *directory,
                     const struct sql_limits *limits, struct error *err)
{
    return sql_open_in(database, directory, NULL, &(struct sql_engine){.limits = *limits}, err);
}

bool sql_open_in(struct sql_database **database, const char *directory, const char *query,
                 const struct sql_engine *engine, struct error *err)
{
    struct sql_database *opened = mem_zeroed(1, sizeof *opened);
    opened->engine = *engine;
    char *real = realpath(directory, NULL);
    bool ok = real != NULL;
    if (!ok)
        error_in_file(err, directory, "cannot open: %s", strerror(errno));
    ok = ok && check_path(real, err) && tables_find(&opened->tables, real, query, err) &&
         fill(opened, err);
    free(real);
    if (!ok) {
        sql_close(opened);
        opened = NULL;
    }
    *database = opened;
    return ok;
}

void sql_close(struct sql_database *database)
{
    engine_close(&database->engine);
    tables_free(&database->tables);
    mem_free(database);
}

bool sql_connect(struct sql_connection **connection, struct sql_database *database,
                 struct error *err)
{
    struct duckdb_connection *handle;
    *connection = NULL;
    if (!engine_connect(&database->engine, &handle, err))
        return false;
    struct sql_connection *opened = mem_zeroed(1, sizeof *opened);
    *opened = (struct sql_connection){.database = database, .handle = handle};
    pthread_mutex_init(&opened->lock, NULL);
    *connection = opened;
    return true;
}

void sql_disconnect(struct sql_connection *connection)
{
    connection->database->engine.duckdb->disconnect(&connection->handle);
    pthread_mutex_destroy(&connection->lock);
    mem_free(connection);
}

void sql_interrupt(struct sql_connection *connection)
{
    const struct duckdb *duckdb = connection->database->engine.duckdb;
    duckdb->interrupt(connection->handle);
    pthread_mutex_lock(&connection->lock);
    if (connection->examining)
        duckdb->interrupt(connection->examining);
    pthread_mutex_unlock(&connection->lock);
}
