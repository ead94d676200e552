/*
 * Rows of nccom-test: right-aligned columns, four spaces apart.
 */
#include "cli/nccom_report.h"

#include "base/wire/wire.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { GAP = 4, CELL = 64, CELLS = NCCOM_STATS + 9 };

bool nccom_stat_named(const char *name, double *percentile)
{
    char *end;
    if (strcmp(name, "avg") == 0) {
        *percentile = PERCENTILE_AVERAGE;
        return true;
    }
    if (name[0] != 'p' || name[1] < '0' || name[1] > '9')
        return false;
    *percentile = strtod(name + 1, &end);
    return *end == '\0' && *percentile <= 100;
}

static void stat_title(double percentile, char title[static CELL])
{
    if (percentile < 0)
        snprintf(title, CELL, "time:avg(us)");
    else
        snprintf(title, CELL, "time:p%g(us)", percentile);
}

static double stat_of(const struct nccom_result *result, double percentile)
{
    return percentile < 0 ? nccom_average(result->times_us, result->time_count)
                          : nccom_percentile(result->times_us, result->time_count, percentile);
}

/* Bandwidths are those of the average. */
static double algorithm_bandwidth(const struct nccom_row *row)
{
    return nccom_gb_per_s(row->result->shape.bytes, stat_of(row->result, PERCENTILE_AVERAGE));
}

double nccom_bus_bandwidth(const struct nccom_row *row)
{
    return algorithm_bandwidth(row) *
           nccom_bus_factor(row->stream->op, row->result->shape.group_size);
}

/* ---- The table ----------------------------------------------------------------------------- */

static void widen(int *width, int needed)
{
    *width = *width > needed ? *width : needed;
}

void nccom_table_fit(struct nccom_table *table, const struct nccom_stream *stream,
                     const struct nccom_shape *shape)
{
    widen(&table->size_width, snprintf(NULL, 0, "%" PRIu64, shape->bytes));
    widen(&table->count_width, snprintf(NULL, 0, "%" PRIu64, shape->elements));
    widen(&table->type_width, (int)strlen(dtype_name(stream->dtype)));
    widen(&table->op_width, (int)strlen(nccom_op_name(stream->op)));
}

/* Two decimals, without zeros at the end: 10.0, 24.15. */
static const char *format_us(double us, char text[static CELL])
{
    int size = snprintf(text, CELL, "%.2f", us);
    if (text[size - 1] == '0')
        text[size - 1] = '\0';
    return text;
}

struct line {
    struct {
        char title[CELL], text[CELL];
        int width;
    } cells[CELLS];
    size_t count;
};

/* Texts are given by what follows, as for printf. */
static void add_cell(struct line *line, const char *title, int width, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void add_cell(struct line *line, const char *title, int width, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int least = snprintf(line->cells[line->count].title, CELL, "%s", title);
    vsnprintf(line->cells[line->count].text, CELL, format, values);
    line->cells[line->count++].width = width > least ? width : least;
    va_end(values);
}

static void add_times(struct line *line, const struct nccom_table *table,
                      const struct nccom_result *result)
{
    char title[CELL], text[CELL];
    for (size_t i = 0; i < table->stat_count; i++) {
        stat_title(table->percentiles[i], title);
        add_cell(line, title, 0, "%s", format_us(stat_of(result, table->percentiles[i]), text));
    }
}

static void make_line(struct line *line, const struct nccom_table *table,
                      const struct nccom_row *row)
{
    const struct nccom_shape *shape = &row->result->shape;
    line->count = 0;
    if (table->shows_op)
        add_cell(line, "op", table->op_width, "%s", nccom_op_name(row->stream->op));
    add_cell(line, "size(B)", table->size_width, "%" PRIu64, shape->bytes);
    add_cell(line, "count(elems)", table->count_width, "%" PRIu64, shape->elements);
    if (table->shows_sizes) {
        add_cell(line, "total_input_size(B)", 0, "%" PRIu64, shape->input_bytes);
        add_cell(line, "total_output_size(B)", 0, "%" PRIu64, shape->output_bytes);
    }
    add_cell(line, "type", table->type_width, "%s", dtype_name(row->stream->dtype));
    add_times(line, table, row->result);
    add_cell(line, "algbw(GB/s)", 0, "%.2f", algorithm_bandwidth(row));
    add_cell(line, "busbw(GB/s)", 0, "%.2f", nccom_bus_bandwidth(row));
    if (table->shows_algorithm)
        add_cell(line, "algorithm", 0, "%s", row->result->algorithm);
}

void nccom_print_head(const struct nccom_table *table)
{
    const struct nccom_stream stream = {.dtype = DTYPE_UINT8};
    const struct nccom_result result = {.shape = {.group_size = 1}};
    struct line line;
    make_line(&line, table, &(struct nccom_row){&stream, &result});
    for (size_t i = 0; i < line.count; i++)
        printf("%*s%*s", GAP, "", line.cells[i].width, line.cells[i].title);
    printf("\n");
}

void nccom_print_row(const struct nccom_table *table, const struct nccom_row *row)
{
    struct line line;
    make_line(&line, table, row);
    for (size_t i = 0; i < line.count; i++)
        printf("%*s%*s", GAP, "", line.cells[i].width, line.cells[i].text);
    printf("\n");
}

void nccom_print_failure(const struct nccom_table *table, uint64_t size, const char *log)
{
    int least = (int)strlen("size(B)");
    printf("%*s%*" PRIu64 "%*sFailure running neuron-bench - log file %s\n", GAP, "",
           table->size_width > least ? table->size_width : least, size, GAP, "", log);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* Keys are those of the vendor's tool, with their units, as scripts read them. */
void nccom_write_row(struct json *json, const struct nccom_table *table,
                     const struct nccom_row *row)
{
    const struct nccom_shape *shape = &row->result->shape;
    char title[CELL], text[CELL];
    json_open(json, '{');
    if (table->shows_op)
        json_put_text(json, "op", text_of(nccom_op_name(row->stream->op)));
    json_put_uint(json, "size(B)", shape->bytes);
    json_put_uint(json, "count(elems)", shape->elements);
    if (table->shows_sizes) {
        json_put_uint(json, "total_input_size(B)", shape->input_bytes);
        json_put_uint(json, "total_output_size(B)", shape->output_bytes);
    }
    json_put_text(json, "type", text_of(dtype_name(row->stream->dtype)));
    json_put_double(json, "algbw(GB/s)", algorithm_bandwidth(row));
    json_put_double(json, "busbw(GB/s)", nccom_bus_bandwidth(row));
    for (size_t i = 0; i < table->stat_count; i++) {
        stat_title(table->percentiles[i], title);
        json_key(json, title);
        json_raw(json, text_of(format_us(stat_of(row->result, table->percentiles[i]), text)));
    }
    if (table->shows_algorithm)
        json_put_text(json, "algorithm", text_of(row->result->algorithm));
    json_close(json, '}');
}
