/*
 * The analysis of a run: results as Parquet files, one for each query, made again when ranks have
 * come or gone; and the report of them.
 */
#ifndef KYMO_REPORT_FLEET_ANALYSIS_H
#define KYMO_REPORT_FLEET_ANALYSIS_H

#include "base/base.h"

struct sql_connection;
struct table_schema;

/* The runs of a dataset, by name. */
typedef ARRAY(char *) run_names;
bool fleet_runs(const char *dataset, run_names *names, struct error *err);
void run_names_free(run_names *names);
/* When ranks were last added to a run or removed, as Unix time; 0 if there is no such run. */
int64_t fleet_run_changed_ms(const char *dataset, const char *run);

/* What a path such as runs/night or runs names: the run behind the longest part that is a dataset,
 * or the only run of a dataset. */
enum run_path {
    RUN_PATH_OTHER,  /* no part of it is a dataset */
    RUN_PATH_FOUND,  /* free both with mem_free */
    RUN_PATH_FAILED, /* the dataset has no such run, or several */
};
enum run_path fleet_find_run(const char *path, char **dataset, char **run, struct error *err);

#define ENGINE_LOCAL "local"

struct fleet_analysis_options {
    const char *dataset, *run;
    const char *data_path; /* workspace for results where the dataset is read-only; NULL: default */
    const char *engine;    /* where queries run: ENGINE_LOCAL (default) or a URL of Spark */
    bool force;            /* make results again that are up to date */
    unsigned threads;      /* 0: all cores */
    /* Called before each stage; may be NULL. */
    void (*progress)(void *context, const char *stage, size_t done, size_t count);
    void *context;
};

/* Opens a run; one process at a time does. */
struct fleet_analysis;
bool fleet_analysis_open(struct fleet_analysis **analysis,
                         const struct fleet_analysis_options *options, struct error *err);
void fleet_analysis_close(struct fleet_analysis *analysis);
/* What can be interrupted. */
struct sql_connection *fleet_connection(const struct fleet_analysis *analysis);
/* Makes the results, unless they are there. */
bool fleet_analyze(struct fleet_analysis *analysis, const struct fleet_analysis_options *options,
                   struct error *err);

/* Has a table of the run's ranks as a view, ranks.<table>, beside the results; of all ranks (0) or
 * of up to max_ranks, evenly chosen. */
bool fleet_view_table(struct fleet_analysis *analysis, const struct table_schema *table,
                      size_t max_ranks, struct error *err);

/* Puts what to do before the message of a query that could not read a rank's file. */
void fleet_advise(struct error *err);
/* How many ranks the results are without, because files of theirs cannot be read. */
bool fleet_left_out(struct fleet_analysis *analysis, size_t *ranks, struct error *err);

/* The directory of the results if they are up to date, otherwise NULL. Free with mem_free. */
char *fleet_results(const struct fleet_analysis_options *options);

enum fleet_format { FLEET_TEXT, FLEET_JSON, FLEET_MARKDOWN };
struct fleet_report_style {
    enum fleet_format format;
    bool with_sql;  /* the queries behind each finding */
    bool has_color; /* of text */
};
bool fleet_report(struct fleet_analysis *analysis, const struct fleet_report_style *style,
                  struct output *out, struct error *err);
/* The query over the results that a part of the report prints: "summary", "findings", or the key of
 * a section in JSON. */
const char *fleet_report_query(const char *part);

/* The queries in the order they run, as JSON: name, purpose, SQL; those that are worked out by the
 * program have no SQL. */
void fleet_queries(struct output *out);

#endif
