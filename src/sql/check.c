/*
 * Validates user SQL: a single read-only statement.
 */
#include "sql/embedded_queries.h"
#include "sql/result.h"

/*
 * Parses the query with DuckDB's own parser: the number of statements, and the first forbidden
 * function. Those change the engine, or run SQL passed as a value, which would not be checked.
 */
static void put_check(struct output *sql, const char *query)
{
    struct output quoted;
    output_memory(&quoted);
    put_quoted(&quoted, '\'', query);
    output_char(&quoted, '\0');
    sql_fill(sql, sql_sql_check, (const struct sql_blank[]){{"QUERY", .text = quoted.data}}, 1);
    output_discard(&quoted);
}

/* DuckDB's syntax error, which shows the position. */
static bool report_syntax(struct sql_connection *connection, const char *query, struct error *err)
{
    const struct duckdb *duckdb = connection->database->engine.duckdb;
    struct duckdb_statement *statement = NULL;
    duckdb->prepare(connection->handle, query, &statement);
    const char *message = duckdb->prepare_error(statement);
    report(connection, query, message ? message : "Parser Error: not a query", err);
    duckdb->destroy_prepare(&statement);
    return false;
}

static bool check_answer(const struct sql_result *answer, struct sql_connection *connection,
                         const char *query, struct error *err)
{
    struct text failure = sql_value(answer, 0, 0), count = sql_value(answer, 0, 1);
    struct text function = sql_value(answer, 0, 2);
    if (text_equal(failure, TEXT("parser")))
        return report_syntax(connection, query, err);
    if (failure.data)
        return error_set(err, "only SELECT, DESCRIBE, SHOW, SUMMARIZE and EXPLAIN are allowed: a "
                              "profile is read-only");
    if (text_equal(count, TEXT("0")))
        return error_set(err, "the query is empty");
    if (!text_equal(count, TEXT("1")))
        return error_set(err, "one statement at a time: this query has %.*s", (int)count.size,
                         count.data);
    if (function.data)
        return error_set(err, "function %.*s is not allowed: a profile is read-only",
                         (int)function.size, function.data);
    return true;
}

bool check_select(struct sql_connection *connection, const char *query, struct error *err)
{
    struct sql_result *answer = result_new(connection, query);
    struct output sql;
    size_t rows;
    output_memory(&sql);
    put_check(&sql, query);
    result_add_column(answer, "failure", SQL_TEXT);
    result_add_column(answer, "count", SQL_TEXT);
    result_add_column(answer, "function", SQL_TEXT);
    bool ok = result_start(answer, output_sql(&sql), err) && sql_next(answer, &rows, err) &&
              check_answer(answer, connection, query, err);
    output_discard(&sql);
    sql_free(answer);
    return ok;
}
