/*
 * Query results: rows of strings, fetched from DuckDB in chunks.
 */
#include "sql/result.h"

#include <assert.h>

struct sql_result *result_new(struct sql_connection *connection, const char *query)
{
    struct sql_result *result = mem_zeroed(1, sizeof *result);
    result->connection = connection;
    result->query = mem_copy_text(query, strlen(query));
    result->duckdb = connection->database->engine.duckdb;
    return result;
}

void result_add_column(struct sql_result *result, const char *name, enum sql_kind kind)
{
    *array_push(&result->columns) = (struct sql_column){mem_copy_text(name, strlen(name)), kind};
}

void sql_free(struct sql_result *result)
{
    if (!result)
        return;
    if (result->chunk)
        result->duckdb->destroy_data_chunk(&result->chunk);
    result->duckdb->destroy_result(&result->handle);
    struct sql_column *column;
    array_each (column, &result->columns)
        mem_free(column->name);
    array_free(&result->columns);
    mem_free(result->vectors);
    mem_free(result->query);
    mem_free(result);
}

const struct sql_column *sql_columns(const struct sql_result *result, size_t *count)
{
    *count = result->columns.count;
    return result->columns.items;
}

/* Drops the position: it refers to the outer query, which the user did not write. */
static bool report_running(struct sql_result *result, char *message, struct error *err)
{
    char *place = strstr(message, "\n\nLINE ");
    if (place)
        *place = '\0';
    return report(result->connection, result->query, message, err);
}

static void name_columns(struct sql_result *result)
{
    uint64_t count = result->duckdb->column_count(&result->handle);
    for (uint64_t i = 0; i < count; i++)
        result_add_column(result, result->duckdb->column_name(&result->handle, i), SQL_TEXT);
}

bool result_start(struct sql_result *result, const char *sql, struct error *err)
{
    char *message;
    bool ok =
        engine_start(result->duckdb, result->connection->handle, sql, &result->handle, &message);
    if (ok && result->columns.count == 0)
        name_columns(result);
    result->vectors = mem_zeroed(result->columns.count, sizeof *result->vectors);
    if (!ok) {
        report_running(result, message, err);
        mem_free(message);
    }
    return ok;
}

/* Escaping can make a value six times as large, and it is written in one piece. */
static bool check_sizes(const struct sql_result *result, size_t rows, struct error *err)
{
    size_t max = result->has_numbers ? 0 : result->connection->database->engine.limits.value_bytes;
    for (size_t column = 0; max > 0 && column < result->columns.count; column++)
        for (size_t row = 0; row < rows; row++)
            if (sql_value(result, row, column).size > max)
                return error_set(err,
                                 "a value of column %s has %zu bytes; the limit is %zu MiB; "
                                 "shorten it with left() or substring()",
                                 result->columns.items[column].name,
                                 sql_value(result, row, column).size, max >> 20);
    return true;
}

/* Rows fetched by sql_is_empty are returned first. The end of the rows and a failure look alike to
 * the caller of DuckDB; only the result's error tells them apart. */
bool sql_next(struct sql_result *result, size_t *rows, struct error *err)
{
    const struct duckdb *duckdb = result->duckdb;
    *rows = result->peeked;
    result->peeked = 0;
    if (*rows > 0 || result->is_at_end)
        return true;
    do {
        if (result->chunk)
            duckdb->destroy_data_chunk(&result->chunk);
        result->chunk = duckdb->fetch_chunk(result->handle);
        if (result->chunk)
            *rows = (size_t)duckdb->data_chunk_get_size(result->chunk);
    } while (result->chunk && *rows == 0);
    for (size_t i = 0; i < result->columns.count && result->chunk; i++) {
        struct duckdb_vector *vector = duckdb->data_chunk_get_vector(result->chunk, i);
        result->vectors[i].texts = duckdb->vector_get_data(vector);
        result->vectors[i].valid = duckdb->vector_get_validity(vector);
    }
    result->is_at_end = !result->chunk;
    const char *failure = result->chunk ? NULL : duckdb->result_error(&result->handle);
    if (!failure || !*failure)
        return check_sizes(result, *rows, err);
    char *message = mem_copy_text(failure, strlen(failure));
    report_running(result, message, err);
    mem_free(message);
    return false;
}

bool sql_is_empty(struct sql_result *result, bool *is_empty, struct error *err)
{
    size_t rows;
    bool ok = sql_next(result, &rows, err);
    result->peeked = rows;
    *is_empty = rows == 0;
    return ok;
}

struct text sql_value(const struct sql_result *result, size_t row, size_t column)
{
    assert(!result->has_numbers);
    const uint64_t *valid = result->vectors[column].valid;
    if (valid && !(valid[row / 64] >> row % 64 & 1))
        return (struct text){NULL, 0};
    const union duckdb_text *text = &result->vectors[column].texts[row];
    bool is_inlined = text->inlined.size <= sizeof text->inlined.data;
    return (struct text){is_inlined ? text->inlined.data : text->pointer.data, text->inlined.size};
}

const double *sql_numbers(const struct sql_result *result, size_t column)
{
    assert(result->has_numbers);
    return result->vectors[column].numbers;
}
