/*
 * Inside diff: the comparison.
 */
#ifndef KYMO_REPORT_COMPARE_COMPARE_H
#define KYMO_REPORT_COMPARE_COMPARE_H

#include "report/compare/side.h"
#include "report/compare/significance.h"

/* How rows of A and B were found to be the same; from pass to pass less has to agree. */
enum match {
    MATCH_EXACT,
    MATCH_SHAPE, /* shapes differ */
    MATCH_LAYER, /* of runs: communicators have other names or sizes, ranks are on other machines */
    MATCH_NAME,  /* names differ in template arguments, hashes, suffixes of tuning, or the program's
                  */
    MATCHES,
    MATCH_NONE = MATCHES,
};
extern const char *const match_words[MATCHES + 1];

enum side { SIDE_A, SIDE_B, SIDES };

/* What is left of a kernel's name without what compilers and tuners put into it. */
void put_loose_name(struct output *out, struct text name);

typedef ARRAY(const struct side_row *) row_list;
/* Rows that are one: of each side several if their names are only alike. */
struct match_group {
    enum match match;
    row_list rows[SIDES];
};
typedef ARRAY(struct match_group) match_list;
void match_rows(const struct diff_side *const sides[SIDES], match_list *groups);
void match_list_free(match_list *groups);

enum change { CHANGE_MORE, CHANGE_LESS, CHANGE_NEW, CHANGE_GONE, CHANGE_NONE, CHANGES };
enum significance {
    SIGNIFICANT,
    NOT_SIGNIFICANT,
    NEGLIGIBLE, /* significant, but no more than equal runs differ by */
    TOO_FEW_STEPS,
    OUTSIDE_STEPS, /* of the whole capture, though other rows are per step */
    NOT_TESTED,    /* no steps, or nothing that steps have */
};

struct figures {
    bool is_there;
    double count, amount;             /* per step and device, or of the whole capture */
    double total_count, total_amount; /* of the whole capture */
    double inclusive;                 /* total_amount with nested events; NAN if they add none */
    double skew, bandwidth;           /* of collectives of runs, NAN of others */
};

struct diff_row {
    enum diff_kind kind;
    enum match match;
    struct text name, layer, shape;
    struct figures of[SIDES];
    const struct match_group *group;
    bool is_communication;
    /* B - A, NAN if one of them is not known; B / A, NAN if A has none. Of ranks and machines,
     * whose amounts are what they take longer than the median rank, 1 + the difference over what
     * that takes. */
    double difference, ratio;
    double p, adjusted_p; /* NAN without a test */
    enum change change;
    enum significance significance;
};

enum { SHOWN_CAUSES = 6 };
/* A part of the step time, which differences add up to that of the step time. */
struct contribution {
    const char *name, *rows_name, *rest_name;
    double of[SIDES];
    double difference;
    const struct diff_row *causes[SHOWN_CAUSES]; /* rows that changed most */
    size_t cause_count;
    bool has_rows;
    double others; /* difference of the other rows */
    double rest;   /* what rows do not explain */
};
enum { MAX_CONTRIBUTIONS = 8 };

struct diff {
    const struct diff_side *sides[SIDES];
    bool is_per_step;
    bool is_of_runs;
    enum sample_test test;
    match_list groups;
    ARRAY(struct diff_row) rows; /* by kind, change, size of the difference */
    const struct diff_row *step; /* the step time; NULL without steps */
    double medians[SIDES];       /* of the step time */
    struct contribution contributions[MAX_CONTRIBUTIONS];
    size_t contribution_count;
    ARRAY(char *) warnings; /* sentences; see find_differences */
};

/* Adds a warning for each reason why A and B are not comparable: their devices, their programs. */
void find_differences(struct diff *diff);

/* What the change of the step time consists of. */
void explain(struct diff *diff);

/* Words of answers. */
const char *change_word(const struct diff_row *row);
extern const char *const significance_words[];
/* Why nothing was tested or compared by steps, as a sentence; NULL if all was. */
const char *diff_note(const struct diff *diff);

/* Whether a row is written, given how many of its kind and change were before it. */
static inline bool is_row_shown(const struct diff_options *options, const struct diff_row *row,
                                size_t before)
{
    return (options->kind == DIFF_KINDS || options->kind == row->kind) &&
           (options->top == 0 || before < options->top);
}

void diff_write_text(const struct diff *diff, const struct diff_options *options,
                     struct output *out);
void diff_write_markdown(const struct diff *diff, const struct diff_options *options,
                         struct output *out);
void diff_write_json(const struct diff *diff, const struct diff_options *options,
                     struct output *out);
void diff_write_csv(const struct diff *diff, const struct diff_options *options,
                    struct output *out);

#endif
