/*
 * Writes the rows of a query as JSON, CSV or a text table.
 */
#include "export/lines.h"

#include <ctype.h>
#include <stdio.h>

/* Rows not shown in a table are counted up to this limit. */
enum { MAX_COUNTED = 1000000 };

/* Where the rows go and what else is needed to write one. */
struct writer {
    struct sql_result *result;
    const struct sql_column *columns;
    size_t column_count;
    struct output *out;
    struct json json;
    struct table table;
    char **names;             /* JSON keys or table headers */
    enum digit_groups digits; /* of numbers in tables */
    bool has_blank_nulls;     /* in tables */
    uint64_t written, left;   /* rows; `left`: fetched but not written */
};

static struct writer writer_for(struct sql_result *result, struct output *out)
{
    struct writer writer = {.result = result, .out = out};
    writer.columns = sql_columns(result, &writer.column_count);
    writer.names = mem_zeroed(writer.column_count, sizeof *writer.names);
    return writer;
}

static void free_names(struct writer *writer)
{
    for (size_t i = 0; i < writer->column_count; i++)
        mem_free(writer->names[i]);
    mem_free(writer->names);
}

/* Writes rows until the end, the limit, or a write error. */
static bool write_rows(struct writer *writer, uint64_t limit,
                       void (*write)(struct writer *writer, size_t row), struct error *err)
{
    uint64_t max_rows = limit ? limit : UINT64_MAX;
    for (size_t rows = 1; rows > 0 && writer->written < max_rows && !writer->out->failed;) {
        if (!sql_next(writer->result, &rows, err))
            return false;
        size_t row = 0;
        for (; row < rows && writer->written < max_rows; row++, writer->written++)
            write(writer, row);
        writer->left = rows - row;
    }
    return true;
}

static bool is_used(const struct writer *writer, const char *name, size_t before)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(writer->names[i], name) == 0)
            return true;
    return false;
}

/* Makes JSON keys unique: columns may have equal names. */
static void name_keys(struct writer *writer)
{
    for (size_t i = 0; i < writer->column_count; i++) {
        const char *name = writer->columns[i].name;
        size_t size = strlen(name) + 24;
        writer->names[i] = mem_alloc(size);
        snprintf(writer->names[i], size, "%s", name);
        for (size_t n = 1; is_used(writer, writer->names[i], i); n++)
            snprintf(writer->names[i], size, "%s_%zu", name, n);
    }
}

/* The length of a NaN or Infinity at the start of the text, otherwise 0. */
static size_t non_finite_size(struct text text)
{
    static const struct text words[] = {TEXT("NaN"), TEXT("Infinity"), TEXT("-Infinity")};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_starts(text, words[i]))
            return words[i].size;
    return 0;
}

/* Copies JSON from DuckDB; NaN and Infinity, which it writes bare, become strings. */
static void put_nested(struct json *json, struct text nested)
{
    struct output clean;
    bool in_text = false;
    output_memory(&clean);
    for (size_t i = 0; i < nested.size; i++) {
        struct text rest = {nested.data + i, nested.size - i};
        size_t size = in_text ? 0 : non_finite_size(rest);
        if (*rest.data == '"')
            in_text = !in_text;
        if (size > 0)
            output_format(&clean, "\"%.*s\"", (int)size, rest.data);
        else if (*rest.data == '\\' && rest.size > 1)
            output_write(&clean, rest.data, 2);
        else
            output_char(&clean, *rest.data);
        i += size > 0 ? size - 1 : *rest.data == '\\';
    }
    json_raw(json, (struct text){clean.data, clean.size});
    output_discard(&clean);
}

static void put_number(struct json *json, struct text number)
{
    size_t sign = number.data[0] == '-';
    if (isdigit((unsigned char)number.data[sign]))
        json_raw(json, number);
    else
        json_text(json, text_starts(number, TEXT("n")) ? TEXT("NaN")
                        : sign                         ? TEXT("-Infinity")
                                                       : TEXT("Infinity"));
}

static void put_value(struct json *json, const struct sql_column *column, struct text value)
{
    if (!value.data)
        json_null(json);
    else if (column->kind == SQL_NUMBER)
        put_number(json, value);
    else if (column->kind == SQL_BOOLEAN)
        json_raw(json, value);
    else if (column->kind == SQL_JSON)
        put_nested(json, value);
    else
        json_text(json, value);
}

void export_json_members(struct json *json, const struct sql_result *result, size_t row)
{
    size_t count;
    const struct sql_column *columns = sql_columns(result, &count);
    for (size_t i = 0; i < count; i++) {
        json_key(json, columns[i].name);
        put_value(json, &columns[i], sql_value(result, row, i));
    }
}

static void write_object(struct writer *writer, size_t row)
{
    json_open_row(&writer->json, '{');
    for (size_t i = 0; i < writer->column_count; i++) {
        json_key(&writer->json, writer->names[i]);
        put_value(&writer->json, &writer->columns[i], sql_value(writer->result, row, i));
    }
    json_close_row(&writer->json, '}');
}

bool export_rows_json(struct sql_result *result, uint64_t limit, struct output *out,
                      struct error *err)
{
    struct writer writer = writer_for(result, out);
    name_keys(&writer);
    json_begin(&writer.json, out, true);
    json_open(&writer.json, '[');
    bool ok = write_rows(&writer, limit, write_object, err);
    json_close(&writer.json, ']');
    free_names(&writer);
    return ok;
}

void export_csv_value(struct output *out, struct text value, enum csv_quotes quotes)
{
    bool is_plain = quotes == CSV_QUOTED_IF_NEEDED && (value.size > 0 || !value.data);
    for (size_t i = 0; i < value.size && is_plain; i++)
        is_plain = !strchr("\",\r\n", value.data[i]) || value.data[i] == '\0';
    if (is_plain) {
        output_write(out, value.data, value.size);
        return;
    }
    output_char(out, '"');
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] == '"')
            output_char(out, '"');
        output_char(out, value.data[i]);
    }
    output_char(out, '"');
}

void export_csv_header(const struct sql_result *result, struct output *out)
{
    size_t count;
    const struct sql_column *columns = sql_columns(result, &count);
    for (size_t i = 0; i < count; i++) {
        export_csv_value(out, text_of(columns[i].name), CSV_QUOTED_IF_NEEDED);
        output_char(out, i + 1 < count ? ',' : '\n');
    }
}

void export_csv_row(const struct sql_result *result, size_t row, enum csv_quotes quotes,
                    struct output *out)
{
    size_t columns;
    sql_columns(result, &columns);
    for (size_t i = 0; i < columns; i++) {
        export_csv_value(out, sql_value(result, row, i), quotes);
        output_char(out, i + 1 < columns ? ',' : '\n');
    }
}

void export_csv_rows(const struct sql_result *result, size_t rows, struct output *out)
{
    for (size_t row = 0; row < rows; row++)
        export_csv_row(result, row, CSV_QUOTED_IF_NEEDED, out);
}

static void write_line(struct writer *writer, size_t row)
{
    export_csv_row(writer->result, row, CSV_QUOTED_IF_NEEDED, writer->out);
}

bool export_rows_csv(struct sql_result *result, uint64_t limit, struct output *out,
                     struct error *err)
{
    struct writer writer = writer_for(result, out);
    export_csv_header(result, out);
    bool ok = write_rows(&writer, limit, write_line, err);
    free_names(&writer);
    return ok;
}

/* Digits before the point in groups of three. */
static void table_grouped(struct table *table, struct text number)
{
    struct output grouped;
    size_t sign = number.size > 0 && number.data[0] == '-', end = sign;
    while (end < number.size && isdigit((unsigned char)number.data[end]))
        end++;
    output_memory(&grouped);
    for (size_t i = 0; i < number.size; i++) {
        if (i > sign && i < end && (end - i) % 3 == 0)
            output_char(&grouped, ',');
        output_char(&grouped, number.data[i]);
    }
    table_text(table, (struct text){grouped.data, grouped.size});
    output_discard(&grouped);
}

static bool is_grouped(const struct writer *writer, const struct sql_column *column)
{
    return column->kind == SQL_NUMBER &&
           (writer->digits == DIGITS_OF_ALL ||
            (writer->digits == DIGITS_OF_UNITS && text_ends(text_of(column->name), TEXT(")"))));
}

static void write_cells(struct writer *writer, size_t row)
{
    for (size_t i = 0; i < writer->column_count; i++) {
        struct text value = sql_value(writer->result, row, i);
        if (value.data && is_grouped(writer, &writer->columns[i]))
            table_grouped(&writer->table, value);
        else if (value.data || writer->has_blank_nulls)
            table_text(&writer->table, value);
        else
            table_null(&writer->table);
    }
}

static struct column *make_columns(struct writer *writer)
{
    struct column *columns = mem_zeroed(writer->column_count, sizeof *columns);
    for (size_t i = 0; i < writer->column_count; i++) {
        struct output clean;
        output_memory(&clean);
        put_printable(&clean, text_of(writer->columns[i].name));
        writer->names[i] = mem_copy_text(clean.data, clean.size);
        output_discard(&clean);
        bool is_number = writer->columns[i].kind == SQL_NUMBER;
        columns[i] = (struct column){writer->names[i], !is_number, !is_number};
    }
    return columns;
}

/* The row counts; counts the rows not shown first. */
static bool put_counts(struct writer *writer, struct error *err)
{
    char shown[QUANTITY_SIZE], more[QUANTITY_SIZE];
    uint64_t left = writer->left;
    for (size_t rows = 1; left > 0 && left <= MAX_COUNTED && rows > 0; left += rows)
        if (!sql_next(writer->result, &rows, err))
            return false;
    bool is_many = left > MAX_COUNTED;
    output_format(writer->out, "%s row%s", format_count(writer->written, shown),
                  writer->written == 1 ? "" : "s");
    if (left > 0)
        output_format(writer->out, ", %s%s more row%s; --limit 0 shows all", is_many ? "over " : "",
                      format_count(is_many ? MAX_COUNTED : left, more), left == 1 ? "" : "s");
    output_char(writer->out, '\n');
    return true;
}

/* A query plan is printed as is. */
static void write_plan(struct writer *writer, size_t row)
{
    struct text plan = sql_value(writer->result, row, writer->column_count - 1);
    for (size_t at = 0, end; at < plan.size; at = end + 1) {
        for (end = at; end < plan.size && plan.data[end] != '\n';)
            end++;
        put_printable(writer->out, (struct text){plan.data + at, end - at});
        output_char(writer->out, '\n');
    }
}

bool export_rows_text(struct sql_result *result, const struct text_style *style, struct output *out,
                      struct error *err)
{
    struct writer writer = writer_for(result, out);
    struct column *columns = make_columns(&writer);
    bool ok;
    if (writer.columns[writer.column_count - 1].kind == SQL_PLAN) {
        ok = write_rows(&writer, 0, write_plan, err);
    } else {
        writer.table = table_begin(columns, writer.column_count);
        writer.digits = style->digits;
        writer.has_blank_nulls = style->has_blank_nulls;
        ok = write_rows(&writer, style->top, write_cells, err);
        table_end(&writer.table, style, out);
        ok = ok && put_counts(&writer, err);
    }
    free_names(&writer);
    mem_free(columns);
    return ok;
}
