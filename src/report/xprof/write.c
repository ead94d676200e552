/*
 * Writes tools: their tables for people and scripts, and what XProf's server answers.
 */
#include "report/xprof/tool.h"

#include "base/wire/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct tool_column diagnostics_columns[2] = {
    STRING("severity", "Severity", FOR_PROGRAMS),
    STRING("message", "Message", FOR_PROGRAMS),
};

typedef bool ask_function(struct sql_result **result, struct sql_connection *connection,
                          const char *query, struct error *err);

static bool query_by(ask_function *ask, struct sql_result **result, struct tool_run *run,
                     const char *sql, struct error *err)
{
    const struct tool_options *options = run->options;
    const struct relation_options relations = {.host = options->host,
                                               .group_by = options->group_by,
                                               .module = options->module,
                                               .is_xprof = options->format == TOOL_GVIZ};
    struct output query;
    output_memory(&query);
    relations_put(&query, run->present, &relations, sql);
    output_char(&query, '\0');
    bool ok = ask(result, run->connection, query.data, err);
    output_discard(&query);
    return ok;
}

bool tool_query(struct sql_result **result, struct tool_run *run, const char *sql,
                struct error *err)
{
    return query_by(sql_ask_texts, result, run, sql, err);
}

double cell_number(struct text value)
{
    char digits[64];
    if (value.size == 0 || value.size >= sizeof digits)
        return 0;
    memcpy(digits, value.data, value.size);
    digits[value.size] = '\0';
    return strtod(digits, NULL);
}

static unsigned form_of(enum tool_format format)
{
    return format == TOOL_TEXT ? FOR_PEOPLE : format == TOOL_GVIZ ? FOR_XPROF : FOR_SCRIPTS;
}

static bool has_column_here(const struct tool_run *run, const struct tool_column *column)
{
    if (!(column->forms & form_of(run->options->format)))
        return false;
    if (!column->kind || run->options->format != TOOL_GVIZ)
        return true;
    if (strcmp(column->kind, "GPU") == 0)
        return run->has_gpus;
    return run->has_tpus == (strcmp(column->kind, "TPU") == 0);
}

/* A query of the table's columns that the format has. For people, with its titles. */
static void put_select(struct output *sql, const struct tool_run *run,
                       const struct tool_table *table)
{
    enum tool_format format = run->options->format;
    const char *comma = "SELECT ";
    output_format(sql, "WITH report AS (%s) ", table->sql);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tool_column *column = &table->columns[i];
        if (!has_column_here(run, column))
            continue;
        output_text(sql, comma);
        comma = ", ";
        if (format == TOOL_TEXT && column->cell == CELL_NUMBER)
            output_format(sql, "round(\"%s\", %u)::DECIMAL(38, %u) AS \"%s\"", column->id,
                          column->digits, column->digits, column->label);
        else if (format == TOOL_TEXT && column->cell == CELL_FLAG)
            output_format(sql,
                          "CASE \"%s\" WHEN true THEN 'yes' WHEN false THEN 'no' END AS \"%s\"",
                          column->id, column->label);
        else
            output_format(sql, "\"%s\" AS \"%s\"", column->id,
                          format == TOOL_TEXT ? column->label : column->id);
    }
    output_text(sql, " FROM report");
    output_char(sql, '\0');
}

static bool query_table(ask_function *ask, struct sql_result **result, struct tool_run *run,
                        const struct tool_table *table, struct error *err)
{
    struct output sql;
    output_memory(&sql);
    put_select(&sql, run, table);
    bool ok = query_by(ask, result, run, sql.data, err);
    output_discard(&sql);
    return ok;
}

/* The DataTable form of Google's charts, which XProf's page reads: keys and their order are fixed
 * by it. */
static void put_columns(struct json *json, const struct tool_run *run,
                        const struct tool_table *table)
{
    static const char *const types[] = {
        [CELL_TEXT] = "string", [CELL_NUMBER] = "number", [CELL_FLAG] = "boolean"};
    json_key(json, "cols");
    json_open(json, '[');
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tool_column *column = &table->columns[i];
        if (!has_column_here(run, column))
            continue;
        json_open(json, '{');
        json_put_text(json, "id", text_of(column->id));
        json_put_text(json, "label", text_of(column->label));
        if (column->role) {
            json_key(json, "p");
            json_open(json, '{');
            json_put_text(json, "role", text_of(column->role));
            json_close(json, '}');
        }
        json_put_text(json, "type", text_of(types[column->cell]));
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* XProf has no unknown values: they are 0, empty or false. */
static void put_cell(struct json *json, const struct tool_column *column, struct text value)
{
    bool is_finite = value.size > 0 && strchr("-.0123456789", value.data[0]) &&
                     !text_starts(value, TEXT("-inf"));
    json_open(json, '{');
    if (column->is_hex && is_finite) {
        struct output hex;
        output_memory(&hex);
        output_format(&hex, "0x%" PRIx64, (uint64_t)cell_number(value));
        json_put_text(json, "f", (struct text){hex.data, hex.size});
        output_discard(&hex);
    }
    json_key(json, "v");
    if (column->cell == CELL_TEXT)
        json_text(json, value.data ? value : TEXT(""));
    else if (column->cell == CELL_NUMBER)
        json_raw(json, is_finite ? value : TEXT("0"));
    else
        json_raw(json, value.data ? value : TEXT("false"));
    json_close(json, '}');
}

static void put_row(struct json *json, const struct tool_run *run, const struct tool_table *table,
                    const struct sql_result *result, size_t row)
{
    size_t cell = 0;
    json_open(json, '{');
    json_key(json, "c");
    json_open(json, '[');
    for (size_t i = 0; i < table->column_count; i++)
        if (has_column_here(run, &table->columns[i]))
            put_cell(json, &table->columns[i], sql_value(result, row, cell++));
    json_close(json, ']');
    json_close(json, '}');
}

static bool put_rows(struct json *json, struct tool_run *run, const struct tool_table *table,
                     struct error *err)
{
    struct sql_result *result = NULL;
    uint64_t left = run->options->limit ? run->options->limit : UINT64_MAX;
    json_key(json, "rows");
    json_open(json, '[');
    bool ok = query_table(sql_ask_texts, &result, run, table, err);
    for (size_t rows = 1; ok && rows > 0 && left > 0;) {
        ok = sql_next(result, &rows, err);
        for (size_t row = 0; ok && row < rows && left > 0; row++, left--)
            put_row(json, run, table, result, row);
    }
    sql_free(result);
    json_close(json, ']');
    return ok;
}

/* Members of an object, as text; XProf's properties are all text. NULL: not of this device. */
static bool put_properties(struct json *json, struct tool_run *run, const struct tool_table *table,
                           struct error *err)
{
    struct sql_result *result = NULL;
    size_t rows = 0, count = 0;
    bool ok = tool_query(&result, run, table->properties, err) && sql_next(result, &rows, err);
    json_open(json, '{');
    const struct sql_column *columns = ok ? sql_columns(result, &count) : NULL;
    for (size_t i = 0; ok && rows > 0 && i < count; i++) {
        struct text value = sql_value(result, 0, i);
        if (value.data)
            json_put_text(json, columns[i].name, value);
    }
    json_close(json, '}');
    sql_free(result);
    return ok;
}

static bool write_gviz(struct tool_run *run, const struct tool_table *table, struct json *json,
                       struct error *err)
{
    bool ok = true;
    json_open(json, '{');
    if (table->column_count > 0) {
        put_columns(json, run, table);
        if (table->properties) {
            json_key(json, "p");
            ok = put_properties(json, run, table, err);
        }
        ok = ok && put_rows(json, run, table, err);
    }
    json_close(json, '}');
    return ok;
}

static bool write_value(struct tool_run *run, const char *sql, struct error *err)
{
    struct sql_result *result = NULL;
    size_t rows = 0;
    bool ok = tool_query(&result, run, sql, err) && sql_next(result, &rows, err);
    struct text value = ok && rows > 0 ? sql_value(result, 0, 0) : TEXT("{}");
    if (ok)
        output_write(run->out, value.data, value.size);
    sql_free(result);
    return ok;
}

static bool write_for_xprof(const struct xprof_tool *tool, struct tool_run *run, struct error *err)
{
    struct json json;
    bool ok = true;
    if (tool->write_document)
        return tool->write_document(run, err);
    if (tool->document)
        return write_value(run, tool->document, err);
    json_begin(&json, run->out, false);
    if (tool->is_list)
        json_open(&json, '[');
    for (size_t i = 0; ok && i < tool->table_count; i++)
        if (tool->tables[i].forms & FOR_XPROF)
            ok = write_gviz(run, &tool->tables[i], &json, err);
    if (tool->is_list)
        json_close(&json, ']');
    return ok;
}

void put_tool_title(struct tool_run *run, const char *title)
{
    bool is_bold = run->options->style.colored;
    output_format(run->out, "%s%s%s\n", is_bold ? "\033[1m" : "", title, is_bold ? "\033[0m" : "");
}

/* Before a table; in CSV, only if there are several. */
static void put_heading(struct tool_run *run, const struct tool_table *table, bool is_first,
                        bool is_only)
{
    enum tool_format format = run->options->format;
    if (format == TOOL_JSON) {
        output_format(run->out, "%s\"%s\": ", is_first ? "{" : ",\n", table->name);
        return;
    }
    if (!is_first)
        output_char(run->out, '\n');
    if (format == TOOL_TEXT)
        put_tool_title(run, table->title);
    else if (!is_only)
        output_format(run->out, "%s\n", table->name);
}

static bool is_wanted(const struct tool_run *run, const struct tool_table *table)
{
    return (table->forms & form_of(run->options->format)) &&
           (!run->options->table || strcmp(run->options->table, table->name) == 0);
}

static size_t count_wanted(const struct tool_run *run, const struct xprof_tool *tool)
{
    size_t count = 0;
    for (size_t i = 0; i < tool->table_count; i++)
        count += is_wanted(run, &tool->tables[i]);
    return count;
}

/* Tables without rows are left out for people. */
static bool write_tables(const struct xprof_tool *tool, struct tool_run *run, bool *is_empty,
                         struct error *err)
{
    const struct tool_options *options = run->options;
    struct rows_format format = {.kind = options->format == TOOL_TEXT  ? ROWS_TEXT
                                         : options->format == TOOL_CSV ? ROWS_CSV
                                                                       : ROWS_JSON,
                                 .limit = options->limit,
                                 .style = options->style};
    bool is_only = count_wanted(run, tool) == 1, is_first = true, ok = true;
    *is_empty = true;
    for (size_t i = 0; ok && i < tool->table_count; i++) {
        struct sql_result *result = NULL;
        bool has_none = true;
        if (!is_wanted(run, &tool->tables[i]))
            continue;
        ok = query_table(sql_ask, &result, run, &tool->tables[i], err) &&
             sql_is_empty(result, &has_none, err);
        *is_empty &= has_none;
        if (ok && !(has_none && options->format == TOOL_TEXT)) {
            put_heading(run, &tool->tables[i], is_first, is_only);
            is_first = false;
            ok = export_rows(result, &format, run->out, err);
        }
        sql_free(result);
    }
    if (ok && options->format == TOOL_JSON)
        output_text(run->out, is_first ? "{}\n" : "}\n");
    return ok;
}

/* What kind of devices the tables are about. */
static bool find_kind(struct tool_run *run, struct error *err)
{
    struct sql_result *result = NULL;
    size_t rows = 0;
    bool ok = tool_query(&result, run, "SELECT kind FROM accelerator LIMIT 1", err) &&
              sql_next(result, &rows, err);
    struct text kind = ok && rows > 0 ? sql_value(result, 0, 0) : TEXT("CPU");
    snprintf(run->kind, sizeof run->kind, "%.*s", (int)kind.size, kind.data);
    run->has_gpus = strcmp(run->kind, "GPU") == 0;
    run->has_tpus = strcmp(run->kind, "TPU") == 0;
    sql_free(result);
    return ok;
}

static bool begin(struct tool_run *run, struct error *err)
{
    return present_find(&run->present, run->connection, err) &&
           (run->options->format != TOOL_GVIZ || find_kind(run, err));
}

bool tool_write(const struct xprof_tool *tool, struct sql_connection *connection,
                const struct tool_options *options, struct output *out, struct error *err)
{
    struct tool_run run = {.connection = connection, .options = options, .out = out};
    bool is_empty = false;
    if (options->format != TOOL_GVIZ && options->table && count_wanted(&run, tool) == 0)
        return error_set(err, "%s has no table '%s'", tool->name, options->table);
    bool ok = begin(&run, err);
    if (ok && tool->write)
        ok = tool->write(&run, &is_empty, err);
    else if (ok && options->format == TOOL_GVIZ)
        ok = write_for_xprof(tool, &run, err);
    else if (ok && options->format == TOOL_TEXT && tool->write_text)
        ok = tool->write_text(&run, &is_empty, err);
    else if (ok)
        ok = write_tables(tool, &run, &is_empty, err);
    if (ok && is_empty && options->notice)
        options->notice(options->context, tool->why);
    present_free(run.present);
    return ok;
}

static bool put_csv_rows(struct tool_run *run, const struct tool_table *table, struct error *err)
{
    struct sql_result *result = NULL;
    bool ok = query_table(sql_ask_texts, &result, run, table, err);
    for (size_t rows = 1; ok && rows > 0;) {
        ok = sql_next(result, &rows, err);
        for (size_t row = 0; ok && row < rows; row++)
            export_csv_row(result, row, CSV_QUOTED, run->out);
    }
    sql_free(result);
    return ok;
}

bool tool_write_xprof_csv(const struct xprof_tool *tool, struct sql_connection *connection,
                          const struct tool_options *options, struct output *out, struct error *err)
{
    struct tool_run run = {.connection = connection, .options = options, .out = out};
    const struct tool_table *table = tool->tables;
    while (!(table->forms & FOR_XPROF))
        table++;
    bool ok = begin(&run, err);
    const char *comma = "";
    for (size_t i = 0; ok && i < table->column_count; i++)
        if (has_column_here(&run, &table->columns[i])) {
            output_text(out, comma);
            export_csv_value(out, text_of(table->columns[i].label), CSV_QUOTED);
            comma = ",";
        }
    output_char(out, '\n');
    ok = ok && put_csv_rows(&run, table, err);
    present_free(run.present);
    return ok;
}
