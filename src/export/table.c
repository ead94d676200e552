/*
 * Text tables for terminals and files.
 */
#include "export/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum { GAP = 2, MIN_WIDTH = 8 };

struct table table_begin(const struct column *columns, size_t count)
{
    return (struct table){.columns = columns, .column_count = count};
}

/* C0 and C1 control characters and bytes that are not UTF-8 are not printed. */
static bool is_control(const char *at, size_t left, size_t *length)
{
    unsigned char c = (unsigned char)at[0];
    *length = text_utf8_length(at, left);
    if (*length == 0) {
        *length = 1;
        return true;
    }
    return c < 0x20 || c == 0x7F || (c == 0xC2 && (unsigned char)at[1] < 0xA0);
}

void put_printable(struct output *out, struct text text)
{
    size_t length;
    for (size_t at = 0; at < text.size; at += length) {
        if (is_control(text.data + at, text.size - at, &length))
            output_char(out, ' ');
        else
            output_write(out, text.data + at, length);
    }
}

void table_text(struct table *table, struct text text)
{
    struct output clean;
    output_memory(&clean);
    put_printable(&clean, text);
    *array_push(&table->cells) = mem_copy_text(clean.data, clean.size);
    output_discard(&clean);
}

void table_null(struct table *table)
{
    *array_push(&table->cells) = NULL;
}

void table_format(struct table *table, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    table_text(table, text_of(text));
}

void table_count(struct table *table, uint64_t count)
{
    char text[QUANTITY_SIZE];
    table_text(table, text_of(format_count(count, text)));
}

void table_ps(struct table *table, double ps)
{
    char text[QUANTITY_SIZE];
    table_text(table, text_of(format_ps(ps, text)));
}

void table_share(struct table *table, double share)
{
    table_format(table, "%.1f %%", share * 100);
}

/* The width on a terminal: characters, not bytes. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

/* A line being written. Spaces are deferred until something follows, so none trail. */
struct line {
    struct output *out;
    size_t blanks;
};

static void put_bytes(struct line *line, const char *bytes, size_t size)
{
    for (; size > 0 && line->blanks > 0; line->blanks--)
        output_char(line->out, ' ');
    output_write(line->out, bytes, size);
}

/* The first `width` characters of text; if truncated, the last is an ellipsis. */
static void put_truncated(struct line *line, const char *text, size_t width)
{
    bool cut = width_of(text) > width;
    size_t left = cut ? width - 1 : width, size = 0;
    for (; text[size]; size++) {
        bool starts = ((unsigned char)text[size] & 0xC0) != 0x80;
        if (starts && left-- == 0)
            break;
    }
    put_bytes(line, text, size);
    if (cut)
        put_bytes(line, "\xE2\x80\xA6", 3);
}

static void put_cell(struct line *line, const struct column *column, const char *text, size_t width)
{
    size_t shown = width_of(text) < width ? width_of(text) : width;
    line->blanks += GAP + (column->is_text ? 0 : width - shown);
    put_truncated(line, text, width);
    line->blanks += column->is_text ? width - shown : 0;
}

static const char *text_of_cell(const struct table *table, size_t i)
{
    return table->cells.items[i] ? table->cells.items[i] : "NULL";
}

/* Column widths: that of the widest cell; if the line gets too long, the widest flexible columns
 * shrink. */
static size_t *fit_columns(const struct table *table, size_t line_width)
{
    size_t columns = table->column_count, total = 0;
    size_t *widths = mem_zeroed(columns, sizeof *widths);
    for (size_t c = 0; c < columns; c++) {
        widths[c] = width_of(table->columns[c].title);
        for (size_t i = c; i < table->cells.count; i += columns) {
            size_t width = width_of(text_of_cell(table, i));
            widths[c] = width > widths[c] ? width : widths[c];
        }
        total += widths[c] + GAP;
    }
    for (; total > line_width; total--) {
        size_t widest = columns;
        for (size_t c = 0; c < columns; c++)
            if (table->columns[c].is_flexible && widths[c] > MIN_WIDTH &&
                (widest == columns || widths[c] > widths[widest]))
                widest = c;
        if (widest == columns)
            break;
        widths[widest]--;
    }
    return widths;
}

static void free_cells(struct table *table)
{
    char **cell;
    array_each (cell, &table->cells)
        mem_free(*cell);
    array_free(&table->cells);
}

/* Columns can be sized only when all cells are known, so rows are kept until here. Frees the cells;
 * the table must not be used afterward. */
void table_end(struct table *table, const struct text_style *style, struct output *out)
{
    size_t columns = table->column_count;
    assert(columns > 0);
    size_t *widths = fit_columns(table, style->width);
    struct line line = {.out = out};
    output_text(out, style->colored ? "\033[2m" : "");
    for (size_t c = 0; c < columns; c++)
        put_cell(&line, &table->columns[c], table->columns[c].title, widths[c]);
    output_text(out, style->colored ? "\033[0m\n" : "\n");
    for (size_t i = 0; i < table->cells.count; i++) {
        size_t c = i % columns;
        bool is_dim = style->colored && !table->cells.items[i];
        if (c == 0)
            line.blanks = 0;
        output_text(out, is_dim ? "\033[2m" : "");
        put_cell(&line, &table->columns[c], text_of_cell(table, i), widths[c]);
        output_text(out, is_dim ? "\033[0m" : "");
        if (c + 1 == columns)
            output_char(out, '\n');
    }
    mem_free(widths);
    free_cells(table);
}

static void put_markdown_cell(const char *cell, bool is_code, struct output *out)
{
    output_text(out, is_code ? "| `" : "| ");
    for (const char *c = cell; *c; c++) {
        output_text(out, *c == '|' ? "\\" : "");
        output_char(out, is_code && *c == '`' ? '\'' : *c);
    }
    output_text(out, is_code ? "` " : " ");
}

void table_end_markdown(struct table *table, const struct markdown_style *style, struct output *out)
{
    size_t columns = table->column_count;
    const char *blank = style->has_blank_rule ? " " : "";
    for (size_t c = 0; c < columns; c++)
        put_markdown_cell(table->columns[c].title, false, out);
    output_text(out, "|\n");
    for (size_t c = 0; c < columns; c++)
        output_format(out, "|%s%s%s", blank, table->columns[c].is_text ? "---" : "---:", blank);
    output_text(out, "|\n");
    for (size_t i = 0; i < table->cells.count; i++) {
        bool is_code = style->has_code && table->columns[i % columns].is_flexible;
        put_markdown_cell(text_of_cell(table, i), is_code, out);
        output_text(out, (i + 1) % columns == 0 ? "|\n" : "");
    }
    free_cells(table);
}
