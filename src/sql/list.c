/*
 * The list of tables with row counts, built as a query so that it is an ordinary result.
 */
#include "sql/engine.h"

static bool count_rows(struct sql_result **result, struct sql_connection *connection,
                       const struct sql_table *table, struct error *err)
{
    struct output query;
    size_t rows;
    *result = NULL;
    if (table->problem) {
        *err = *table->problem;
        return false;
    }
    output_memory(&query);
    output_text(&query, "SELECT count(*) FROM ");
    put_quoted(&query, '"', table->name);
    bool ok =
        sql_query(result, connection, output_sql(&query), err) && sql_next(*result, &rows, err);
    output_discard(&query);
    return ok;
}

/* Appends the table's row as SQL values; false if the table has a problem. */
static bool put_line(struct output *sql, struct sql_connection *connection,
                     const struct sql_table *table)
{
    struct sql_result *result;
    struct error problem;
    char line[ERROR_LINE_SIZE];
    bool ok = count_rows(&result, connection, table, &problem);
    struct text count = ok ? sql_value(result, 0, 0) : TEXT("NULL");
    output_char(sql, '(');
    put_quoted(sql, '\'', table->name);
    output_format(sql, ", %.*s, ", (int)count.size, count.data);
    if (ok) {
        output_text(sql, "NULL");
    } else {
        error_line(&problem, line);
        clean_message(line);
        put_quoted(sql, '\'', line);
    }
    output_char(sql, ')');
    sql_free(result);
    return ok;
}

bool sql_list(struct sql_result **result, struct sql_connection *connection, struct error *err)
{
    const struct sql_tables *tables = &connection->database->tables;
    struct output lines, sql;
    bool all_good = true;
    output_memory(&lines);
    for (size_t i = 0; i < tables->tables.count; i++) {
        output_text(&lines, i ? ", " : "");
        all_good &= put_line(&lines, connection, &tables->tables.items[i]);
    }
    output_memory(&sql);
    output_format(&sql, "SELECT \"table\", \"rows\"::BIGINT AS \"rows\"%s FROM (VALUES ",
                  all_good ? "" : ", problem");
    output_write(&sql, lines.data, lines.size);
    output_text(&sql, ") AS list(\"table\", \"rows\", problem)");
    bool ok = sql_query(result, connection, output_sql(&sql), err);
    output_discard(&sql);
    output_discard(&lines);
    return ok;
}
