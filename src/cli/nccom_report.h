/*
 * The table and the JSON file of nccom-test.
 */
#ifndef KYMO_CLI_NCCOM_REPORT_H
#define KYMO_CLI_NCCOM_REPORT_H

#include "neuron/run/nccom/nccom.h"

enum { NCCOM_STATS = 32 };

/* Which optional columns are shown, and the widths of columns that depend on values. */
struct nccom_table {
    double percentiles[NCCOM_STATS]; /* PERCENTILE_AVERAGE: the average */
    size_t stat_count;
    bool shows_algorithm, shows_sizes, shows_op;
    int size_width, count_width, type_width, op_width;
};
#define PERCENTILE_AVERAGE (-1.0)

/* "avg", "p50", "p99.9". */
bool nccom_stat_named(const char *name, double *percentile);
/* Makes columns as wide as a stream's values need. */
void nccom_table_fit(struct nccom_table *table, const struct nccom_stream *stream,
                     const struct nccom_shape *shape);

struct nccom_row {
    const struct nccom_stream *stream;
    const struct nccom_result *result;
};
double nccom_bus_bandwidth(const struct nccom_row *row);
void nccom_print_head(const struct nccom_table *table);
void nccom_print_row(const struct nccom_table *table, const struct nccom_row *row);
void nccom_print_failure(const struct nccom_table *table, uint64_t size, const char *log);

/* One object of "results". */
struct json;
void nccom_write_row(struct json *json, const struct nccom_table *table,
                     const struct nccom_row *row);

#endif
