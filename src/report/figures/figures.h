/*
 * figures: the catalog of what pages, summaries and tools show. A figure has an id, one definition
 * (text, unit, formula) and a query over the tables of a profile that gives it; figures that one
 * query gives, one row for each thing they are about, are a group. The id of a figure is that of
 * its group, a dot, and the column of the query: `summary.devices.busy_share`.
 *
 * Groups are those of figures.def, the tables of tools (`kernel_stats.kernels`), the reports of
 * kymo stats (`stats.cuda_gpu_kern_sum`), the metrics of a device profile (`device.metrics`), and
 * the tables of a profile themselves (`table.Step`). Those of runs of many ranks (`run.steps`) are
 * queries over the results of a run's analysis, those of comparisons (`diff.kernels`) over the
 * tables of two profiles.
 */
#ifndef KYMO_REPORT_FIGURES_FIGURES_H
#define KYMO_REPORT_FIGURES_FIGURES_H

#include "base/base.h"
#include "base/wire/wire.h"
#include "sql/sql.h"

struct figure {
    const char *column, *label;
    const char *unit; /* "" for counts and names of things */
    const char *text, *formula;
};

struct figure_group {
    const char *id, *title;
    const char *keys; /* columns that tell rows apart, with commas; "" where there is one row */
    const char *sql;  /* NULL: that of a tool's table or of a report, or a page has it */
    const char *tool, *table;
    bool is_of_run;
    const char *part;   /* of the report of a run, whose query it is; NULL: sql */
    const char *report; /* of kymo stats */
    bool is_of_two;     /* profiles or runs compared: see report/compare/diff.h for its query */
};

/* Groups with their figures, those of the tables of a profile last. */
typedef void figure_visitor(void *context, const struct figure_group *group,
                            const struct figure *figures, size_t count);
void figures_visit(figure_visitor *visit, void *context);

enum figure_query {
    FIGURE_NO_GROUP, /* there is no such group */
    FIGURE_NO_QUERY, /* its query depends on what was chosen on its page */
    FIGURE_OF_TWO,   /* its query is over two profiles: diff_put_query gives it */
    FIGURE_QUERY,
    FIGURE_RUN_QUERY, /* over the results of a run */
};
enum figure_query figures_find_query(struct text group);
/* The value of a parameter of a query, as it was chosen on a page; NULL: none was. */
typedef const char *figure_parameter(const void *context, const char *name);

/* Puts the query of a group that has one over the tables of a profile: plain SQL, which any DuckDB
 * runs over its Parquet files. What a query writes as `$name` becomes the parameter's value, a
 * number or a text, or NULL. op_profile has the parameter group_by, one of tool_groupings. */
bool figures_put_query(struct output *sql, struct text group, figure_parameter *parameter,
                       const void *context, struct sql_connection *connection, struct error *err);
/* The same of a group of runs: any DuckDB runs it over the results' Parquet files. */
void figures_put_run_query(struct output *sql, struct text group, figure_parameter *parameter,
                           const void *context);

/* Why figures of the group are not known for the profile: an earlier version made it, without a
 * column that the query names. A sentence, or NULL; free it with mem_free. */
char *figures_why_unknown(struct text group, struct sql_connection *connection);

/* The catalog as JSON. */
void figures_put_json(struct json *json);
/* The page of the documentation. */
void figures_put_page(struct output *out);
/* Whether the figures are the columns of a table, of which there are very many. */
bool figures_of_table(const struct figure_group *group);

#endif
