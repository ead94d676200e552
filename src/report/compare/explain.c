/*
 * What the change of the step time consists of. StepBreakdown and RankStep divide a step's time
 * without overlaps or gaps, so that the differences of its parts add up to that of the step. Rows
 * that do the work of a part explain its difference as far as they run alone.
 */
#include "report/compare/compare.h"

#include <math.h>

static double part_of(const struct diff *diff, enum side side, const char *name)
{
    const struct diff_row *row;
    array_each (row, &diff->rows)
        if (row->kind == DIFF_STEPS && text_equal(row->name, text_of(name)))
            return row->of[side].amount;
    return 0;
}

/* Rows of a kind that a part of steps is made of. */
static bool is_cause(const struct diff_row *row, enum diff_kind kind, bool is_communication)
{
    if (row->kind != kind || row->significance == NOT_TESTED || row->significance == OUTSIDE_STEPS)
        return false;
    return kind == DIFF_COLLECTIVES || row->is_communication == is_communication;
}

/* Keeps the rows that changed most. */
static void add_cause(struct contribution *part, const struct diff_row *row)
{
    size_t at = part->cause_count < SHOWN_CAUSES ? part->cause_count++ : SHOWN_CAUSES;
    while (at > 0 && fabs(part->causes[at - 1]->difference) < fabs(row->difference)) {
        if (at < SHOWN_CAUSES)
            part->causes[at] = part->causes[at - 1];
        at--;
    }
    if (at < SHOWN_CAUSES)
        part->causes[at] = row;
}

static void find_causes(const struct diff *diff, struct contribution *part, enum diff_kind kind)
{
    const struct diff_row *row;
    double sum = 0, shown = 0;
    array_each (row, &diff->rows) {
        if (!is_cause(row, kind, false))
            continue;
        part->has_rows = true;
        sum += row->difference;
        if (row->difference != 0)
            add_cause(part, row);
    }
    for (size_t i = 0; i < part->cause_count; i++)
        shown += part->causes[i]->difference;
    part->others = sum - shown;
    part->rest = part->difference - sum;
}

static bool has_rows(const struct diff *diff, enum diff_kind kind)
{
    const struct diff_row *row;
    array_each (row, &diff->rows)
        if (is_cause(row, kind, false))
            return true;
    return false;
}

static bool has_parts(const struct diff_side *side)
{
    const struct side_step *step;
    array_each (step, &side->steps)
        if (!step->is_left_out && !step->has_parts)
            return false;
    return true;
}

/* A part that is reported, and the parts of steps that it is made of. */
struct told_part {
    const char *name, *rest;
    size_t first, count;
    enum diff_kind kind; /* DIFF_KINDS: no rows do this */
};
#define OVERLAP "rest: overlap with other work or steps"

static const struct told_part profile_parts[] = {
    {"computation", OVERLAP, 0, 3, DIFF_KERNELS},
    {"exposed collectives", OVERLAP, 3, 1, DIFF_COLLECTIVES},
    {"copies", OVERLAP, 4, 3, DIFF_COPIES},
    {"input wait", NULL, 7, 1, DIFF_KINDS},
    {"host computation", NULL, 8, 1, DIFF_KINDS},
    {"kernel launch", NULL, 9, 1, DIFF_KINDS},
    {"compilation", NULL, 10, 1, DIFF_KINDS},
    {"other", NULL, 11, 1, DIFF_KINDS},
};
static const struct told_part run_parts[] = {
    {"compute", OVERLAP, 0, 1, DIFF_KERNELS},
    {"exposed communication", OVERLAP, 1, 1, DIFF_COLLECTIVES},
    {"copies", OVERLAP, 2, 1, DIFF_COPIES},
    {"idle: waits for the host", NULL, 3, 1, DIFF_KINDS},
    {"idle: between kernels", NULL, 4, 1, DIFF_KINDS},
    {"idle: other", NULL, 5, 1, DIFF_KINDS},
};
enum {
    PROFILE_PARTS = sizeof profile_parts / sizeof *profile_parts,
    TOLD_RUN_PARTS = sizeof run_parts / sizeof *run_parts,
};

static void explain_part(const struct diff *diff, const struct told_part *told,
                         struct contribution *part)
{
    const char *const *names = diff->is_of_runs ? run_part_names : step_part_names;
    enum diff_kind kind = told->kind;
    if (kind == DIFF_KERNELS && !has_rows(diff, kind))
        kind = DIFF_OPERATORS; /* devices without kernels */
    *part = (struct contribution){.name = told->name, .rest_name = told->rest};
    for (enum side side = SIDE_A; side < SIDES; side++)
        for (size_t k = 0; k < told->count; k++)
            part->of[side] += part_of(diff, side, names[told->first + k]);
    part->difference = part->of[SIDE_B] - part->of[SIDE_A];
    if (kind != DIFF_KINDS) {
        part->rows_name = diff_kind_names[kind];
        find_causes(diff, part, kind);
    }
}

void explain(struct diff *diff)
{
    const struct told_part *parts = diff->is_of_runs ? run_parts : profile_parts;
    size_t count = diff->is_of_runs ? (size_t)TOLD_RUN_PARTS : (size_t)PROFILE_PARTS;
    if (!has_parts(diff->sides[SIDE_A]) || !has_parts(diff->sides[SIDE_B]))
        return;
    for (size_t i = 0; i < count; i++)
        explain_part(diff, &parts[i], &diff->contributions[i]);
    diff->contribution_count = count;
}
