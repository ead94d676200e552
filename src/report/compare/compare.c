/*
 * Compares what was read of two profiles or runs, row by row.
 */
#include "report/compare/compare.h"

#include "base/percentile.h"

#include <math.h>

/* Smaller differences of rows that cannot be tested do not count as changes. */
#define MIN_UNTESTED_CHANGE 0.01

const char *const significance_words[] = {
    [SIGNIFICANT] = "significant",     [NOT_SIGNIFICANT] = "not significant",
    [NEGLIGIBLE] = "negligible",       [TOO_FEW_STEPS] = "too few steps",
    [OUTSIDE_STEPS] = "outside steps", [NOT_TESTED] = "not tested",
};

const char *change_word(const struct diff_row *row)
{
    static const char *const words[] = {[CHANGE_MORE] = "slower",
                                        [CHANGE_LESS] = "faster",
                                        [CHANGE_NEW] = "new",
                                        [CHANGE_GONE] = "gone",
                                        [CHANGE_NONE] = "same"};
    if (row->kind == DIFF_MEMORY && row->change == CHANGE_MORE)
        return "more";
    if (row->kind == DIFF_MEMORY && row->change == CHANGE_LESS)
        return "less";
    return words[row->change];
}

static bool has_equal_worlds(const struct diff *diff)
{
    return diff->sides[SIDE_A]->world_size == diff->sides[SIDE_B]->world_size;
}

const char *diff_note(const struct diff *diff)
{
    const struct diff_side *a = diff->sides[SIDE_A], *b = diff->sides[SIDE_B];
    if (a->steps.count == 0 && b->steps.count == 0)
        return diff->is_of_runs
                   ? "Neither run has steps that its ranks share: nothing is compared."
                   : "Neither profile has steps: figures are of the whole captures, and nothing is "
                     "tested.";
    if (a->steps.count == 0)
        return "A has no steps: figures are of the whole captures, and nothing is tested.";
    if (b->steps.count == 0)
        return "B has no steps: figures are of the whole captures, and nothing is tested.";
    if (diff->test == TEST_NONE)
        return diff->is_of_runs
                   ? "Too few steps to tell changes from chance: each run needs three."
                   : "Too few steps to tell changes from chance: each profile needs three.";
    if (diff->is_of_runs && !has_equal_worlds(diff))
        return "The runs have different numbers of ranks: ranks are not compared one by one.";
    return NULL;
}

/* --- figures of a row --- */

/* The values of a row in the steps that count; those without are 0. */
static double *values_of(const struct diff_side *side, enum diff_kind kind, const row_list *rows,
                         size_t *steps, double *count)
{
    double *dense = mem_zeroed(side->steps.count, sizeof *dense);
    size_t kept = 0;
    *count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct step_value *value;
        array_each (value, &rows->items[i]->values) {
            dense[value->step] += value->amount;
            *count += side->steps.items[value->step].is_left_out ? 0 : value->count;
        }
    }
    for (size_t i = 0; i < side->steps.count; i++)
        if (!side->steps.items[i].is_left_out && !(side->steps.items[i].kinds_left >> kind & 1))
            dense[kept++] = dense[i];
    *count /= (double)kept;
    *steps = kept;
    return dense;
}

static double mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

static struct figures totals_of(const row_list *rows)
{
    struct figures figures = {
        .is_there = rows->count > 0, .inclusive = NAN, .skew = NAN, .bandwidth = NAN};
    for (size_t i = 0; i < rows->count; i++) {
        const struct side_row *row = rows->items[i];
        figures.total_count += row->count;
        figures.total_amount += row->amount;
        if (!isnan(row->inclusive))
            figures.inclusive = row->inclusive + (isnan(figures.inclusive) ? 0 : figures.inclusive);
    }
    if (rows->count == 1) {
        figures.skew = rows->items[0]->skew;
        figures.bandwidth = rows->items[0]->bandwidth;
    }
    figures.count = figures.total_count;
    figures.amount = figures.total_amount;
    return figures;
}

/* Whether anything of it is in a step; the rest of a capture is compared as a whole. */
static bool is_in_steps(const struct match_group *group)
{
    for (enum side side = SIDE_A; side < SIDES; side++)
        for (size_t i = 0; i < group->rows[side].count; i++)
            if (group->rows[side].items[i]->values.count > 0)
                return true;
    return false;
}

static double p_of(enum sample_test test, double *const values[SIDES], const size_t counts[SIDES])
{
    if (test == TEST_RANKS)
        return ranks_p(values[SIDE_A], counts[SIDE_A], values[SIDE_B], counts[SIDE_B]);
    if (test == TEST_WELCH)
        return welch_p(values[SIDE_A], counts[SIDE_A], values[SIDE_B], counts[SIDE_B]);
    return NAN;
}

/* Per step, and with a test. */
static void compare_steps(struct diff *diff, const struct match_group *group, struct diff_row *row)
{
    double *values[SIDES];
    size_t counts[SIDES];
    for (enum side side = SIDE_A; side < SIDES; side++) {
        values[side] = values_of(diff->sides[side], row->kind, &group->rows[side], &counts[side],
                                 &row->of[side].count);
        row->of[side].amount = mean(values[side], counts[side]);
    }
    row->p = p_of(diff->test, values, counts);
    row->significance = diff->test == TEST_NONE ? TOO_FEW_STEPS : NOT_SIGNIFICANT;
    for (enum side side = SIDE_A; side < SIDES; side++)
        mem_free(values[side]);
}

/* The row that takes most: its name stands for the group. */
static const struct side_row *largest(const row_list *rows)
{
    const struct side_row *best = rows->items[0];
    for (size_t i = 1; i < rows->count; i++)
        if (rows->items[i]->amount > best->amount)
            best = rows->items[i];
    return best;
}

/* Whether amounts are the excess over the median rank. */
static bool is_excess(enum diff_kind kind)
{
    return kind == DIFF_RANKS || kind == DIFF_MACHINES;
}

/* The row is named after B, the newer side, if B has it. Amounts of ranks and machines are
 * excesses, which can be 0 or negative, so their ratio is relative to the time of A's median rank.
 */
static struct diff_row compare_group(struct diff *diff, const struct match_group *group)
{
    const row_list *named = &group->rows[group->rows[SIDE_B].count > 0 ? SIDE_B : SIDE_A];
    const struct side_row *first = largest(named);
    struct diff_row row = {
        .kind = first->kind,
        .match = group->match,
        .name = first->name,
        .layer = first->layer,
        .shape = group->match == MATCH_EXACT || named->count == 1 ? first->shape : TEXT(""),
        .group = group,
        .is_communication = first->is_communication,
        .of = {totals_of(&group->rows[SIDE_A]), totals_of(&group->rows[SIDE_B])},
        .p = NAN,
        .significance = NOT_TESTED,
    };
    if (diff->is_per_step && is_in_steps(group))
        compare_steps(diff, group, &row);
    else if (diff->is_per_step && row.kind != DIFF_MEMORY)
        row.significance = OUTSIDE_STEPS;
    row.difference = row.of[SIDE_B].amount - row.of[SIDE_A].amount;
    if (row.kind == DIFF_STEPS && group->match == MATCH_NONE) {
        row.difference = row.p = NAN; /* a part that only one profile knows of its steps */
        row.significance = NOT_TESTED;
    }
    row.adjusted_p = row.p;
    row.ratio = row.of[SIDE_A].amount > 0 ? row.of[SIDE_B].amount / row.of[SIDE_A].amount : NAN;
    if (is_excess(row.kind))
        row.ratio = 1 + row.difference / diff->sides[SIDE_A]->own_ns;
    return row;
}

/* --- which changes count --- */

/* Whether equal runs differ by as much. */
static bool is_negligible(const struct diff *diff, const struct diff_row *row)
{
    const row_list *rows = row->group->rows;
    if (!diff->is_of_runs || rows[SIDE_A].count == 0 || rows[SIDE_B].count == 0)
        return false;
    return fabs(row->difference) <
           fmax(rows[SIDE_A].items[0]->tolerance, RUN_TOLERANCE * fabs(row->of[SIDE_A].amount));
}

static enum change change_of(const struct diff_row *row)
{
    if (!row->of[SIDE_A].is_there || !row->of[SIDE_B].is_there)
        return row->of[SIDE_B].is_there ? CHANGE_NEW : CHANGE_GONE;
    if (row->difference == 0 || row->significance == NOT_SIGNIFICANT ||
        row->significance == NEGLIGIBLE)
        return CHANGE_NONE;
    if (row->significance != SIGNIFICANT && fabs(row->ratio - 1) < MIN_UNTESTED_CHANGE)
        return CHANGE_NONE;
    return row->difference > 0 ? CHANGE_MORE : CHANGE_LESS;
}

/* Rows of a kind are corrected together; the step time is one question of its own. */
static void judge(struct diff *diff)
{
    double **values = mem_zeroed(diff->rows.count, sizeof *values);
    struct diff_row *row;
    for (enum diff_kind kind = 0; kind < DIFF_KINDS; kind++) {
        size_t count = 0;
        array_each (row, &diff->rows)
            if (row->kind == kind && !text_equal(row->name, TEXT(STEP_TIME)))
                values[count++] = &row->adjusted_p;
        adjust_p(values, count);
    }
    array_each (row, &diff->rows) {
        if (row->adjusted_p < SIGNIFICANCE_LEVEL) /* not if it is NAN */
            row->significance = is_negligible(diff, row) ? NEGLIGIBLE : SIGNIFICANT;
        row->change = change_of(row);
    }
    mem_free(values);
}

static double size_of(double difference)
{
    return isnan(difference) ? 0 : fabs(difference);
}

static bool by_importance(const void *a, const void *b, const void *context)
{
    const struct diff_row *m = a, *n = b;
    (void)context;
    if (m->kind != n->kind)
        return m->kind < n->kind;
    if (m->change != n->change)
        return m->change < n->change;
    bool is_outside = m->significance == OUTSIDE_STEPS;
    if (is_outside != (n->significance == OUTSIDE_STEPS))
        return !is_outside; /* such as what a program does once, to begin with */
    if (size_of(m->difference) != size_of(n->difference))
        return size_of(m->difference) > size_of(n->difference);
    double larger = fmax(m->of[SIDE_A].amount, m->of[SIDE_B].amount);
    double other = fmax(n->of[SIDE_A].amount, n->of[SIDE_B].amount);
    if (larger != other)
        return larger > other;
    int order = text_compare(m->name, n->name);
    order = order ? order : text_compare(m->layer, n->layer);
    return (order ? order : text_compare(m->shape, n->shape)) < 0;
}

/* Rows of whole captures stand in for those of steps where there are none. Rank 7 of 8 is not that
 * of 16, and machines are compared if both runs are on them. */
static bool is_compared(const struct diff *diff, const struct match_group *group)
{
    const row_list *rows = &group->rows[group->rows[SIDE_A].count > 0 ? SIDE_A : SIDE_B];
    const struct side_row *row = rows->items[0];
    if (row->kind == DIFF_RANKS)
        return has_equal_worlds(diff);
    if (row->kind == DIFF_MACHINES)
        return group->match != MATCH_NONE;
    return row->kind != DIFF_STEPS || row->is_whole == !diff->is_per_step;
}

static double median_duration(const struct diff_side *side)
{
    ARRAY(double) values = {0};
    for (size_t i = 0; i < side->steps.count; i++)
        if (!side->steps.items[i].is_left_out)
            *array_push(&values) = side->steps.items[i].duration_ns;
    double result = percentile_median(values.items, values.count);
    array_free(&values);
    return result;
}

/* Judging needs all rows, as p-values are corrected together; it precedes sorting, which depends on
 * it. Pointers to rows, as in step, are taken only after the sort. */
struct diff *diff_compare(const struct diff_side *a, const struct diff_side *b)
{
    struct diff *diff = mem_zeroed(1, sizeof *diff);
    const struct match_group *group;
    diff->sides[SIDE_A] = a;
    diff->sides[SIDE_B] = b;
    diff->is_of_runs = a->is_run && b->is_run;
    diff->is_per_step = a->kept > 0 && b->kept > 0;
    diff->test = diff->is_per_step ? test_for(a->kept, b->kept) : TEST_NONE;
    match_rows(diff->sides, &diff->groups);
    array_each (group, &diff->groups)
        if (is_compared(diff, group))
            *array_push(&diff->rows) = compare_group(diff, group);
    judge(diff);
    sort_items(diff->rows.items, diff->rows.count, sizeof *diff->rows.items, by_importance, NULL);
    find_differences(diff);
    const struct diff_row *row;
    array_each (row, &diff->rows)
        if (row->kind == DIFF_STEPS && text_equal(row->name, TEXT(STEP_TIME)))
            diff->step = row;
    if (diff->step) {
        for (enum side side = SIDE_A; side < SIDES; side++)
            diff->medians[side] = median_duration(diff->sides[side]);
        explain(diff);
    }
    return diff;
}

void diff_free(struct diff *diff)
{
    for (size_t i = 0; i < diff->warnings.count; i++)
        mem_free(diff->warnings.items[i]);
    array_free(&diff->warnings);
    match_list_free(&diff->groups);
    array_free(&diff->rows);
    mem_free(diff);
}

struct diff_step_change diff_step_change(const struct diff *diff)
{
    const struct diff_row *step = diff->step;
    if (!step || diff->test == TEST_NONE)
        return (struct diff_step_change){.verdict = DIFF_UNKNOWN};
    return (struct diff_step_change){
        .verdict = step->significance == SIGNIFICANT ? DIFF_SIGNIFICANT : DIFF_NOT_SIGNIFICANT,
        .percent = (step->ratio - 1) * 100,
    };
}
