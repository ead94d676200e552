/*
 * Opens DuckDB with all unneeded features off, and runs SQL statements.
 */
#include "sql/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

void make_temporary_name(char *path, size_t size)
{
    const char *parent = getenv("TMPDIR");
    uint64_t number[2] = {0};
    ssize_t got = getrandom(number, sizeof number, 0);
    (void)got;
    snprintf(path, size, "%s/kymo-sql-%016" PRIx64 "%016" PRIx64,
             parent && *parent ? parent : "/tmp", number[0], number[1]);
}

static bool set_number(const struct duckdb *duckdb, struct duckdb_config *config, const char *name,
                       size_t number, const char *unit)
{
    char value[32];
    snprintf(value, sizeof value, "%zu%s", number, unit);
    return number == 0 || duckdb->set_config(config, name, value) == DUCKDB_DONE;
}

/* Everything that would reach the network or leave files behind is switched off before the database
 * opens; it cannot be switched on again later. */
static bool configure(const struct duckdb *duckdb, struct duckdb_config *config,
                      const struct sql_limits *limits, struct error *err)
{
    char own[ERROR_FILE_SIZE];
    const char *temporary = limits->temporary;
    if (!temporary) {
        make_temporary_name(own, sizeof own);
        temporary = own;
    }
    const char *const settings[][2] = {
        {"autoinstall_known_extensions", "false"},
        {"autoload_known_extensions", "false"},
        {"allow_community_extensions", "false"},
        {"allow_persistent_secrets", "false"},
        {"temp_directory", temporary},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (duckdb->set_config(config, settings[i][0], settings[i][1]) != DUCKDB_DONE)
            return error_set(err, "DuckDB does not support the setting %s", settings[i][0]);
    if (!set_number(duckdb, config, "memory_limit", limits->memory_bytes >> 20, "MiB") ||
        !set_number(duckdb, config, "max_temp_directory_size", (size_t)(limits->spill_bytes >> 20),
                    "MiB") ||
        !set_number(duckdb, config, "threads", limits->threads, ""))
        return error_set(err, "DuckDB rejects the memory limits");
    return true;
}

bool engine_open(struct sql_engine *engine, struct error *err)
{
    *engine = (struct sql_engine){.limits = engine->limits};
    const struct duckdb *duckdb;
    if (!duckdb_load(&duckdb, err))
        return false;
    engine->duckdb = duckdb;
    struct duckdb_config *config = NULL;
    if (duckdb->create_config(&config) != DUCKDB_DONE)
        mem_exhausted();
    char *message = NULL;
    bool ok = configure(duckdb, config, &engine->limits, err);
    if (ok && duckdb->open_ext(NULL, &engine->database, config, &message) != DUCKDB_DONE)
        ok = error_set(err, "cannot start DuckDB: %s", message ? message : "no reason given");
    duckdb->free(message);
    duckdb->destroy_config(&config);
    return ok;
}

void engine_close(struct sql_engine *engine)
{
    if (engine->database)
        engine->duckdb->close(&engine->database);
}

bool engine_connect(const struct sql_engine *engine, struct duckdb_connection **connection,
                    struct error *err)
{
    if (engine->duckdb->connect(engine->database, connection) == DUCKDB_DONE)
        return true;
    return error_set(err, "cannot open another DuckDB connection");
}

static char *copy_message(const char *message)
{
    if (!message || !*message)
        message = "DuckDB failed without a message";
    return mem_copy_text(message, strlen(message));
}

bool engine_start(const struct duckdb *duckdb, struct duckdb_connection *connection,
                  const char *sql, struct duckdb_result *result, char **message)
{
    struct duckdb_statement *statement = NULL;
    *result = (struct duckdb_result){0};
    bool ok = duckdb->prepare(connection, sql, &statement) == DUCKDB_DONE;
    if (!ok) {
        *message = copy_message(duckdb->prepare_error(statement));
    } else if (duckdb->execute_prepared_streaming(statement, result) != DUCKDB_DONE) {
        *message = copy_message(duckdb->result_error(result));
        duckdb->destroy_result(result);
        ok = false;
    }
    duckdb->destroy_prepare(&statement);
    return ok;
}

bool engine_run(const struct duckdb *duckdb, struct duckdb_connection *connection, const char *sql,
                char **message)
{
    struct duckdb_result result;
    if (!engine_start(duckdb, connection, sql, &result, message))
        return false;
    for (struct duckdb_chunk *chunk; (chunk = duckdb->fetch_chunk(result));)
        duckdb->destroy_data_chunk(&chunk);
    const char *failure = duckdb->result_error(&result);
    bool ok = !failure || !*failure;
    if (!ok)
        *message = copy_message(failure);
    duckdb->destroy_result(&result);
    return ok;
}

void put_quoted(struct output *out, char quote, const char *text)
{
    output_char(out, quote);
    for (; *text; text++) {
        if (*text == quote)
            output_char(out, quote);
        output_char(out, *text);
    }
    output_char(out, quote);
}

void put_path(struct output *out, const char *path, bool as_pattern)
{
    struct output pattern;
    output_memory(&pattern);
    for (; *path; path++) {
        bool is_special = as_pattern && strchr("*?[", *path);
        output_text(&pattern, is_special ? "[" : "");
        output_char(&pattern, *path);
        output_text(&pattern, is_special ? "]" : "");
    }
    put_quoted(out, '\'', output_sql(&pattern));
    output_discard(&pattern);
}

/* The files of all ranks; the parts of their paths are columns. */
static void put_partitions(struct output *out, const char *directory)
{
    struct output pattern;
    output_memory(&pattern);
    put_path(&pattern, directory, true);
    pattern.size--; /* the quote */
    output_write(out, pattern.data, pattern.size);
    output_text(out, "/*/*/*/*.parquet', hive_partitioning = true, hive_types = "
                     "{'run': VARCHAR, 'instance': VARCHAR, 'rank': BIGINT})");
    output_discard(&pattern);
}

/* Elsewhere hive partitioning would turn folders named key=value into columns. */
void put_files(struct output *out, const struct sql_file *files, size_t count)
{
    if (count == 1 && files[0].is_partitioned) {
        output_text(out, "read_parquet(");
        put_partitions(out, files[0].path);
        return;
    }
    output_text(out, "read_parquet([");
    for (size_t i = 0; i < count; i++) {
        output_text(out, i ? ", " : "");
        put_path(out, files[i].path, true);
    }
    output_text(out, "], hive_partitioning = false)");
}

const char *output_sql(struct output *out)
{
    output_char(out, '\0');
    return out->data;
}
