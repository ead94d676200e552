/*
 * Writes the rows of a query in the formats of the HTTP API, and dispatches on all row formats.
 */
#include "export/export.h"

#include "base/wire/wire.h"

/* An integer beyond 2^53, which JavaScript would round. */
static bool exceeds_double(struct text number)
{
    static const char max_exact[] = "9007199254740992"; /* 2^53 */
    size_t sign = number.data[0] == '-', size = number.size - sign;
    for (size_t i = sign; i < number.size; i++)
        if (number.data[i] < '0' || number.data[i] > '9')
            return false;
    return size > strlen(max_exact) ||
           (size == strlen(max_exact) && memcmp(number.data + sign, max_exact, size) > 0);
}

/* DuckDB's JSON may contain NaN and Infinity; json_copy turns them into strings. */
void export_json_value(struct json *json, const struct sql_column *column, struct text value)
{
    bool is_number = column->kind == SQL_NUMBER && value.size > 0;
    char first = is_number ? value.data[value.data[0] == '-' && value.size > 1] : '\0';
    if (!value.data)
        json_null(json);
    else if (column->kind == SQL_BOOLEAN ||
             (first >= '0' && first <= '9' && !exceeds_double(value)))
        json_raw(json, value);
    else if (column->kind == SQL_JSON)
        json_copy(json, value);
    else
        json_text(json, value);
}

static const char *kind_name(enum sql_kind kind)
{
    static const char *const names[] = {"text", "number", "boolean", "json", "text"};
    return names[kind];
}

static void put_row(struct json *json, const struct sql_result *result, size_t row, bool as_object)
{
    size_t count;
    const struct sql_column *columns = sql_columns(result, &count);
    json_open(json, as_object ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        if (as_object)
            json_key(json, columns[i].name);
        export_json_value(json, &columns[i], sql_value(result, row, i));
    }
    json_close(json, as_object ? '}' : ']');
}

/* Writes rows up to the limits; *is_cut is set if there are more. */
static bool put_rows(struct json *json, struct sql_result *result, const struct rows_format *format,
                     bool *is_cut, struct error *err)
{
    uint64_t written = 0;
    for (size_t rows = 1; rows > 0;) {
        if (!sql_next(result, &rows, err))
            return false;
        for (size_t row = 0; row < rows; row++, written++) {
            *is_cut = written == format->limit || json->out->size > format->answer_bytes;
            if (*is_cut)
                return true;
            put_row(json, result, row, format->kind == ROWS_API_OBJECTS);
        }
    }
    return true;
}

static void put_columns(struct json *json, const struct sql_result *result)
{
    size_t count;
    const struct sql_column *columns = sql_columns(result, &count);
    json_key(json, "columns");
    json_open(json, '[');
    for (size_t i = 0; i < count; i++) {
        json_open(json, '{');
        json_put_text(json, "name", text_of(columns[i].name));
        json_put_text(json, "kind", text_of(kind_name(columns[i].kind)));
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* {"columns", "rows"} or, as Neuron Explorer's clients expect, {"data"}. */
static bool write_document(struct sql_result *result, const struct rows_format *format,
                           struct output *out, struct error *err)
{
    bool is_cut = false, as_lists = format->kind == ROWS_API_LISTS;
    struct json json;
    json_begin(&json, out, false);
    json_open(&json, '{');
    if (as_lists)
        put_columns(&json, result);
    json_key(&json, as_lists ? "rows" : "data");
    json_open(&json, '[');
    if (!put_rows(&json, result, format, &is_cut, err))
        return false;
    json_close(&json, ']');
    if (as_lists) {
        json_key(&json, "truncated");
        json_bool(&json, is_cut);
    }
    json_close(&json, '}');
    return true;
}

/* CSV cannot mark truncation: too much output is an error. */
static bool write_csv(struct sql_result *result, const struct rows_format *format,
                      struct output *out, struct error *err)
{
    uint64_t left = format->limit;
    export_csv_header(result, out);
    for (size_t rows = 1; rows > 0 && left > 0;) {
        if (!sql_next(result, &rows, err))
            return false;
        size_t written = rows < left ? rows : (size_t)left;
        export_csv_rows(result, written, out);
        left -= written;
        if (out->size > format->answer_bytes)
            return error_set(err, "the answer is over %zu MB; add a LIMIT, or export the table",
                             format->answer_bytes >> 20);
    }
    return true;
}

/* The size limit applies to the whole document, so it is buffered. */
static bool write_buffered(struct sql_result *result, const struct rows_format *format,
                           struct output *out, struct error *err)
{
    struct output document;
    output_memory(&document);
    bool ok = format->kind == ROWS_API_CSV ? write_csv(result, format, &document, err)
                                           : write_document(result, format, &document, err);
    if (ok)
        output_write(out, document.data, document.size);
    output_discard(&document);
    return ok;
}

bool export_rows(struct sql_result *result, const struct rows_format *format, struct output *out,
                 struct error *err)
{
    switch (format->kind) {
    case ROWS_TEXT:
        return export_rows_text(result, &format->style, out, err);
    case ROWS_CSV:
        return export_rows_csv(result, format->limit, out, err);
    case ROWS_JSON:
        return export_rows_json(result, format->limit, out, err);
    case ROWS_API_CSV:
    case ROWS_API_LISTS:
    case ROWS_API_OBJECTS:
        break;
    }
    return write_buffered(result, format, out, err);
}
