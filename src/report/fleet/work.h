/*
 * Inside fleet: an analysis at work, and how stages that are C read and write results.
 */
#ifndef KYMO_REPORT_FLEET_WORK_H
#define KYMO_REPORT_FLEET_WORK_H

#include "report/fleet/analysis.h"
#include "report/fleet/ranks.h"
#include "sql/sql.h"

struct fleet_analysis {
    char *dataset, *run, *directory; /* paths are absolute */
    struct run_files files;
    struct sql_database *database;
    struct sql_connection *connection;
    struct spark *spark; /* runs the queries; NULL: the connection does */
    int lock;
};

/* Stages between the queries. */
typedef bool stage_task(struct fleet_analysis *analysis, struct error *err);
stage_task stage_damaged, stage_clocks, stage_heatmap, stage_clusters, stage_replays,
    stage_findings;

/* Runs a statement, and frees it. */
bool run_statement(struct fleet_analysis *analysis, struct output *sql, struct error *err);
/* Calls visit for each row of a query until it returns false. */
typedef bool row_visitor(void *context, const struct sql_result *result, size_t row);
bool each_row(struct fleet_analysis *analysis, const char *query, row_visitor *visit, void *context,
              struct error *err);
/* A value of a row; 0 or the empty text for NULL. */
double row_number(const struct sql_result *result, size_t row, size_t column);
int64_t row_integer(const struct sql_result *result, size_t row, size_t column);
bool row_true(const struct sql_result *result, size_t row, size_t column);
bool row_has(const struct sql_result *result, size_t row, size_t column);
/* Puts the values of a row as members of the open JSON object. */
struct json;
void row_put_members(const struct sql_result *result, size_t row, struct json *json);
/* NUL-terminated; free with mem_free. */
char *row_text(const struct sql_result *result, size_t row, size_t column);

/* A small result, row by row. Columns are names with types of SQL. */
struct values {
    const char *const (*columns)[2];
    size_t column_count, column;
    struct output sql;
    size_t rows;
};
void values_begin(struct values *values, const char *const (*columns)[2], size_t column_count);
/* Values of a row, in the order of the columns. */
void values_put_text(struct values *values, const char *text);
/* A query as one line, for people. */
void values_put_query(struct values *values, const char *query);
void values_put_number(struct values *values, double number);
void values_put_integer(struct values *values, int64_t number);
void values_put_null(struct values *values);
/* Writes them as the result of this name; frees them. */
bool values_end(struct values *values, struct fleet_analysis *analysis, const char *name,
                struct error *err);

#endif
