/*
 * A database for the program's own statements: without a profile's tables, but with access to files
 * below some directories.
 */
#include "sql/engine.h"

/* From then on, files elsewhere cannot be accessed. */
static bool lock_to(struct sql_connection *connection, const char *const *directories, size_t count,
                    struct error *err)
{
    struct output paths;
    output_memory(&paths);
    output_text(&paths, "SET allowed_directories = [");
    for (size_t i = 0; i < count; i++) {
        output_text(&paths, i ? ", " : "");
        put_quoted(&paths, '\'', directories[i]);
    }
    output_char(&paths, ']');
    bool ok = sql_run(connection, output_sql(&paths), err) &&
              sql_run(connection, "SET GLOBAL parquet_metadata_cache = true", err) &&
              sql_run(connection, "SET preserve_insertion_order = false", err) &&
              sql_run(connection, "SET enable_external_access = false", err) &&
              sql_run(connection, "SET lock_configuration = true", err);
    output_discard(&paths);
    return ok;
}

bool sql_open_directories(struct sql_database **database, const char *const *directories,
                          size_t count, const struct sql_limits *limits, struct error *err)
{
    struct sql_database *opened = mem_zeroed(1, sizeof *opened);
    struct sql_connection *connection = NULL;
    opened->engine.limits = *limits;
    bool ok = engine_open(&opened->engine, err) && sql_connect(&connection, opened, err) &&
              lock_to(connection, directories, count, err);
    if (connection)
        sql_disconnect(connection);
    if (!ok) {
        sql_close(opened);
        opened = NULL;
    }
    *database = opened;
    return ok;
}

bool sql_run(struct sql_connection *connection, const char *statement, struct error *err)
{
    char *message;
    if (engine_run(connection->database->engine.duckdb, connection->handle, statement, &message))
        return true;
    report(connection, statement, message, err);
    mem_free(message);
    return false;
}

void sql_put_quoted(struct output *out, char quote, const char *text)
{
    put_quoted(out, quote, text);
}

void sql_put_path(struct output *out, const char *path)
{
    put_path(out, path, true);
}
