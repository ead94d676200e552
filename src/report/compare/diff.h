/*
 * diff: what changed between two profiles, or two runs of many ranks, A and B: steps, operators,
 * families of kernels, kernels, collectives, copies, work of the host and memory, of runs ranks and
 * machines, with the significance of each change over steps, and what explains the change of the
 * step time.
 */
#ifndef KYMO_REPORT_COMPARE_DIFF_H
#define KYMO_REPORT_COMPARE_DIFF_H

#include "export/export.h"
#include "sql/sql.h"
#include "store/tables/store.h"

enum diff_kind {
    DIFF_STEPS,
    DIFF_RANKS,
    DIFF_MACHINES,
    DIFF_OPERATORS,
    DIFF_FAMILIES,
    DIFF_KERNELS,
    DIFF_COLLECTIVES,
    DIFF_COPIES,
    DIFF_HOST,
    DIFF_MEMORY,
    DIFF_KINDS
};
/* Their names, NULL-terminated. */
extern const char *const diff_kind_names[DIFF_KINDS + 1];

/* What is compared of a profile or a run. */
struct diff_side;
/* Reads it from the tables, steps and rows of some kinds, a bit for each; the name is what the
 * profile is called in answers. */
#define DIFF_ALL_KINDS ((1u << DIFF_KINDS) - 1)
bool diff_read_profile(struct diff_side **side, const char *name, struct sql_connection *connection,
                       unsigned kinds, struct error *err);
/* The same of a run: the connection has the results of its analysis, and in the schema "ranks"
 * these tables, of all its ranks or of some. */
bool diff_read_run(struct diff_side **side, const char *name, struct sql_connection *connection,
                   struct error *err);
struct diff_run_table {
    const struct table_schema *table;
    size_t max_ranks; /* 0: all */
};
extern const struct diff_run_table diff_run_tables[];
extern const size_t diff_run_table_count;
void diff_side_free(struct diff_side *side);

/* The comparison; it refers to both sides, which must outlive it. */
struct diff;
struct diff *diff_compare(const struct diff_side *a, const struct diff_side *b);
void diff_free(struct diff *diff);

/* Puts the query of a group of figures, "diff" or "diff.…", over the tables of both profiles: those
 * of A are in the schema a, those of B in b. False if the group has none, or of runs. Which names
 * are alike, which no query tells, is a part of it. */
bool diff_put_query(const struct diff *diff, struct text group, struct output *sql);
/* Whether a group has a query, and the kinds of rows that must have been read for it. */
bool diff_has_query(struct text group, unsigned *kinds);

/* How the step time changed. */
enum diff_verdict {
    DIFF_UNKNOWN, /* too few steps, or none */
    DIFF_NOT_SIGNIFICANT,
    DIFF_SIGNIFICANT,
};
struct diff_step_change {
    enum diff_verdict verdict;
    double percent; /* of the step time of A; > 0: B is slower */
};
struct diff_step_change diff_step_change(const struct diff *diff);

enum diff_format { DIFF_TEXT, DIFF_JSON, DIFF_CSV, DIFF_MARKDOWN };
struct diff_options {
    enum diff_format format;
    enum diff_kind kind;     /* DIFF_KINDS: all */
    uint64_t top;            /* rows of each kind and change; 0: all */
    struct text_style style; /* of DIFF_TEXT */
};
void diff_write(const struct diff *diff, const struct diff_options *options, struct output *out);

#endif
