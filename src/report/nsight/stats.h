/*
 * stats: the summaries that users of Nsight Systems know, as queries over the tables of a processed
 * profile. Names of reports and titles of columns are those of `nsys stats`, `nsys analyze` and
 * `nsys recipe` where they have the report.
 */
#ifndef KYMO_REPORT_NSIGHT_STATS_H
#define KYMO_REPORT_NSIGHT_STATS_H

#include "export/export.h"
#include "sql/sql.h"

enum report_kind {
    REPORT_SUMMARY, /* one of those that are shown when none is named */
    REPORT_TRACE,   /* a row for each event; only if named */
};

struct report {
    const char *name, *title;
    const char *alias; /* another name, or NULL */
    enum report_kind kind;
    const char *about; /* one line */
    const char *why;   /* why it may have no rows */
    const char *sql;   /* over the relations of relations.h */
};

extern const struct report reports[];
extern const size_t report_count;

/* A report as it was asked for. */
struct report_choice {
    const struct report *report;
    bool has_base_names; /* kernels without namespaces, template arguments and parameters */
};
/* Finds "NAME" or "NAME:base"; false if there is none. */
bool report_find(struct report_choice *choice, const char *word);

enum time_unit { UNIT_NS, UNIT_US, UNIT_MS, UNIT_S };

struct stats_options {
    enum rows_kind format; /* ROWS_TEXT, ROWS_CSV or ROWS_JSON */
    enum time_unit unit;
    struct text_style style;
    uint64_t limit; /* rows of a report; 0: all */
    /* Says why a report that was asked for has no rows. */
    void (*notice)(const struct report *report);
};

/* Writes the chosen reports, those without rows, too; or, if none is chosen, all summaries that
 * have rows. *written counts them. */
bool stats_write(struct sql_connection *connection, const struct report_choice *choices,
                 size_t count, const struct stats_options *options, struct output *out,
                 size_t *written, struct error *err);

#endif
