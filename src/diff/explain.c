/*
 * What the change of the step time consists of. StepBreakdown divides a step's time without
 * overlaps or gaps, so that the differences of its parts add up to that of the step. Rows that do
 * the work of a part explain its difference as far as they run alone.
 */
#include "diff/compare.h"

#include <math.h>

static double part_of(const struct diff *diff, enum side side, size_t part)
{
    const struct diff_row *row;
    array_each (row, &diff->rows)
        if (row->kind == DIFF_STEPS && text_equal(row->name, text_of(step_part_names[part])))
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

void explain(struct diff *diff)
{
    static const struct {
        const char *name, *rest;
        size_t first, count; /* of StepBreakdown's parts */
        enum diff_kind kind; /* DIFF_KINDS: no rows do this */
    } parts[CONTRIBUTIONS] = {
        {"computation", "rest: overlap with other work or steps", 0, 3, DIFF_KERNELS},
        {"exposed collectives", "rest: overlap with other work or steps", 3, 1, DIFF_COLLECTIVES},
        {"copies", "rest: overlap with other work or steps", 4, 3, DIFF_COPIES},
        {"input wait", NULL, 7, 1, DIFF_KINDS},
        {"host computation", NULL, 8, 1, DIFF_KINDS},
        {"kernel launch", NULL, 9, 1, DIFF_KINDS},
        {"compilation", NULL, 10, 1, DIFF_KINDS},
        {"other", NULL, 11, 1, DIFF_KINDS},
    };
    if (!has_parts(diff->sides[SIDE_A]) || !has_parts(diff->sides[SIDE_B]))
        return;
    for (size_t i = 0; i < CONTRIBUTIONS; i++) {
        struct contribution *part = &diff->contributions[i];
        enum diff_kind kind = parts[i].kind;
        if (kind == DIFF_KERNELS && !has_rows(diff, kind))
            kind = DIFF_OPERATORS; /* devices without kernels */
        *part = (struct contribution){.name = parts[i].name, .rest_name = parts[i].rest};
        for (enum side side = SIDE_A; side < SIDES; side++)
            for (size_t k = 0; k < parts[i].count; k++)
                part->of[side] += part_of(diff, side, parts[i].first + k);
        part->difference = part->of[SIDE_B] - part->of[SIDE_A];
        if (kind != DIFF_KINDS) {
            part->rows_name = diff_kind_names[kind];
            find_causes(diff, part, kind);
        }
    }
    diff->contribution_count = CONTRIBUTIONS;
}
