/*
 * Reads and writes results from C: all through the engine.
 */
#include "report/fleet/work.h"

#include "export/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

bool run_statement(struct fleet_analysis *analysis, struct output *sql, struct error *err)
{
    output_char(sql, '\0');
    bool ok = sql_run(analysis->connection, sql->data, err);
    output_discard(sql);
    return ok;
}

bool each_row(struct fleet_analysis *analysis, const char *query, row_visitor *visit, void *context,
              struct error *err)
{
    struct sql_result *result;
    if (!sql_query(&result, analysis->connection, query, err))
        return false;
    size_t rows = 1;
    bool ok = true, is_wanted = true;
    while (ok && is_wanted && rows > 0) {
        ok = sql_next(result, &rows, err);
        for (size_t row = 0; ok && is_wanted && row < rows; row++)
            is_wanted = visit(context, result, row);
    }
    sql_free(result);
    return ok;
}

enum { NUMBER_TEXT = 64 };

static const char *number_text(const struct sql_result *result, size_t row, size_t column,
                               char text[static NUMBER_TEXT])
{
    struct text value = sql_value(result, row, column);
    size_t size = value.size < NUMBER_TEXT ? value.size : NUMBER_TEXT - 1;
    if (size > 0)
        memcpy(text, value.data, size);
    text[size] = '\0';
    return text;
}

double row_number(const struct sql_result *result, size_t row, size_t column)
{
    char text[NUMBER_TEXT];
    return strtod(number_text(result, row, column, text), NULL);
}

int64_t row_integer(const struct sql_result *result, size_t row, size_t column)
{
    char text[NUMBER_TEXT];
    return strtoll(number_text(result, row, column, text), NULL, 10);
}

bool row_true(const struct sql_result *result, size_t row, size_t column)
{
    return text_equal(sql_value(result, row, column), TEXT("true"));
}

bool row_has(const struct sql_result *result, size_t row, size_t column)
{
    return sql_value(result, row, column).data != NULL;
}

void row_put_members(const struct sql_result *result, size_t row, struct json *json)
{
    export_json_members(json, result, row);
}

char *row_text(const struct sql_result *result, size_t row, size_t column)
{
    struct text value = sql_value(result, row, column);
    return mem_copy_text(value.data ? value.data : "", value.size);
}

void values_begin(struct values *values, const char *const (*columns)[2], size_t column_count)
{
    *values = (struct values){.columns = columns, .column_count = column_count};
    output_memory(&values->sql);
    output_text(&values->sql, "SELECT ");
    for (size_t i = 0; i < column_count; i++)
        output_format(&values->sql, "%sCAST(%s AS %s) AS %s", i ? ", " : "", columns[i][0],
                      columns[i][1], columns[i][0]);
    output_text(&values->sql, " FROM (VALUES ");
}

/* Begins a value, and a row where it is the first. */
static struct output *next_value(struct values *values)
{
    if (values->column == 0)
        output_text(&values->sql, values->rows++ ? ", (" : "(");
    else
        output_text(&values->sql, ", ");
    values->column++;
    return &values->sql;
}

static void end_value(struct values *values)
{
    if (values->column == values->column_count) {
        values->column = 0;
        output_char(&values->sql, ')');
    }
}

void values_put_text(struct values *values, const char *text)
{
    sql_put_quoted(next_value(values), '\'', text);
    end_value(values);
}

/* Lines are joined by a blank, but for those that are one in parentheses. */
void values_put_query(struct values *values, const char *query)
{
    struct output line;
    output_memory(&line);
    for (const char *at = query; *at; at++) {
        if (*at != '\n') {
            output_char(&line, *at);
            continue;
        }
        while (at[1] == ' ')
            at++;
        if (at[1] && at[1] != ')' && line.size > 0 && line.data[line.size - 1] != '(')
            output_char(&line, ' ');
    }
    output_char(&line, '\0');
    values_put_text(values, line.data);
    output_discard(&line);
}

void values_put_number(struct values *values, double number)
{
    struct output *sql = next_value(values);
    if (isfinite(number))
        output_format(sql, "%.16e", number);
    else
        output_text(sql, "NULL");
    end_value(values);
}

void values_put_integer(struct values *values, int64_t number)
{
    output_format(next_value(values), "%" PRId64, number);
    end_value(values);
}

void values_put_null(struct values *values)
{
    output_text(next_value(values), "NULL");
    end_value(values);
}

/* SQL has no VALUES without rows: an empty table gets a row of NULLs that WHERE drops, which keeps
 * its columns and types. Frees values in any case. */
bool values_end(struct values *values, struct fleet_analysis *analysis, const char *name,
                struct error *err)
{
    bool is_empty = values->rows == 0;
    struct output copy;
    output_memory(&copy);
    for (size_t i = 0; i < values->column_count && is_empty; i++)
        values_put_null(values);
    output_text(&values->sql, ") AS made(");
    for (size_t i = 0; i < values->column_count; i++)
        output_format(&values->sql, "%s%s", i ? ", " : "", values->columns[i][0]);
    output_text(&values->sql, is_empty ? ") WHERE false" : ")");
    output_text(&copy, "COPY (");
    output_write(&copy, values->sql.data, values->sql.size);
    char *path = path_format("%s/%s.parquet", analysis->directory, name);
    output_text(&copy, ") TO ");
    sql_put_quoted(&copy, '\'', path);
    output_text(&copy, " (FORMAT parquet, COMPRESSION zstd)");
    output_char(&copy, '\0');
    bool ok = sql_run(analysis->connection, copy.data, err);
    mem_free(path);
    output_discard(&copy);
    output_discard(&values->sql);
    return ok;
}
