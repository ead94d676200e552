/*
 * Rows of nccom-test: right-aligned columns, four spaces apart.
 */
#include "cli/nccom_report.h"

#include "wire/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { GAP = 4, CELL = 64 };

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

static void put_cell(const char *title, int width, const char *text)
{
    int least = (int)strlen(title);
    printf("%*s%*s", GAP, "", width > least ? width : least, text);
}

static void put_number(const char *title, int width, uint64_t value)
{
    char text[CELL];
    snprintf(text, sizeof text, "%" PRIu64, value);
    put_cell(title, width, text);
}

/* Two decimals, without zeros at the end: 10.0, 24.15. */
static const char *format_us(double us, char text[static CELL])
{
    int size = snprintf(text, CELL, "%.2f", us);
    if (text[size - 1] == '0')
        text[size - 1] = '\0';
    return text;
}

static void put_us(const char *title, double us)
{
    char text[CELL];
    put_cell(title, 0, format_us(us, text));
}

static void put_bandwidth(const char *title, double gb_per_s)
{
    char text[CELL];
    snprintf(text, sizeof text, "%.2f", gb_per_s);
    put_cell(title, 0, text);
}

/* A row, or without one the titles. */
static void put_line(const struct nccom_table *table, const struct nccom_row *row)
{
    const struct nccom_shape *shape = row ? &row->result->shape : NULL;
    const struct nccom_result *result = row ? row->result : NULL;
    char title[CELL];
#define TEXT_CELL(name, width, text) put_cell(name, width, row ? (text) : name)
#define NUMBER_CELL(name, width, value)                                                            \
    row ? put_number(name, width, value) : put_cell(name, width, name)
#define BANDWIDTH_CELL(name, value) row ? put_bandwidth(name, value) : put_cell(name, 0, name)
    if (table->shows_op)
        TEXT_CELL("op", table->op_width, nccom_op_name(row->stream->op));
    NUMBER_CELL("size(B)", table->size_width, shape->bytes);
    NUMBER_CELL("count(elems)", table->count_width, shape->elements);
    if (table->shows_sizes) {
        NUMBER_CELL("total_input_size(B)", 0, shape->input_bytes);
        NUMBER_CELL("total_output_size(B)", 0, shape->output_bytes);
    }
    TEXT_CELL("type", table->type_width, dtype_name(row->stream->dtype));
    for (size_t i = 0; i < table->stat_count; i++) {
        stat_title(table->percentiles[i], title);
        if (row)
            put_us(title, stat_of(result, table->percentiles[i]));
        else
            put_cell(title, 0, title);
    }
    BANDWIDTH_CELL("algbw(GB/s)", algorithm_bandwidth(row));
    BANDWIDTH_CELL("busbw(GB/s)", nccom_bus_bandwidth(row));
    if (table->shows_algorithm)
        TEXT_CELL("algorithm", 0, result->algorithm[0] ? result->algorithm : "-");
#undef TEXT_CELL
#undef NUMBER_CELL
#undef BANDWIDTH_CELL
    printf("\n");
}

void nccom_print_head(const struct nccom_table *table)
{
    put_line(table, NULL);
}

void nccom_print_row(const struct nccom_table *table, const struct nccom_row *row)
{
    put_line(table, row);
}

void nccom_print_failure(const struct nccom_table *table, uint64_t size, const char *log)
{
    put_number("size(B)", table->size_width, size);
    printf("%*sFailure running neuron-bench - log file %s\n", GAP, "", log);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

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
