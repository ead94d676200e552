/*
 * Writes a comparison for people: as text, and as Markdown for where results are discussed.
 */
#include "report/compare/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *const kind_titles[DIFF_KINDS] = {
    [DIFF_STEPS] = "Steps",
    [DIFF_OPERATORS] = "Operators, time on the device",
    [DIFF_FAMILIES] = "Families of kernels",
    [DIFF_KERNELS] = "Kernels",
    [DIFF_COLLECTIVES] = "Collectives",
    [DIFF_COPIES] = "Copies",
    [DIFF_HOST] = "Host, time of each operator and call itself",
    [DIFF_MEMORY] = "Memory",
    [DIFF_RANKS] = "Ranks, own time over that of the median rank",
    [DIFF_MACHINES] = "Machines, own time of their ranks over that of the median rank",
};

#define NO_PARTS                                                                                   \
    "What explains the step time is not known: a profile does not say what its steps consist of."

enum { CELL_SIZE = 2 * QUANTITY_SIZE };

static const char *format_amount(const struct diff_row *row, double amount, bool is_signed,
                                 char text[static CELL_SIZE])
{
    char digits[QUANTITY_SIZE];
    double size = fabs(amount);
    if (isnan(amount))
        return "";
    const char *sign = amount < 0 ? "-" : is_signed && amount > 0 ? "+" : "";
    if (row && row->kind == DIFF_MEMORY)
        snprintf(text, CELL_SIZE, "%s%s", sign, format_bytes((uint64_t)size, digits));
    else
        snprintf(text, CELL_SIZE, "%s%s", sign, format_ps(size * 1e3, digits));
    return text;
}

/* Blank if the side does not have the row. */
static const char *format_side(const struct diff_row *row, enum side side,
                               char text[static CELL_SIZE])
{
    const struct figures *figures = &row->of[side];
    return figures->is_there ? format_amount(row, figures->amount, false, text) : "";
}

static const char *format_percent(double ratio, char text[static CELL_SIZE])
{
    if (isnan(ratio))
        return "";
    if (ratio >= 10)
        snprintf(text, CELL_SIZE, "x%.1f", ratio);
    else
        snprintf(text, CELL_SIZE, "%+.1f %%", (ratio - 1) * 100);
    return text;
}

static const char *format_p(const struct diff_row *row, char text[static CELL_SIZE])
{
    if (isnan(row->adjusted_p))
        return row->significance == OUTSIDE_STEPS ? significance_words[OUTSIDE_STEPS] : "";
    if (row->adjusted_p < 0.0001)
        return "< 0.0001";
    snprintf(text, CELL_SIZE, "%.4f", row->adjusted_p);
    return text;
}

/* Counts per step may be fractions. Of a side that has none there is nothing. */
static const char *format_counts(const struct diff_row *row, char text[static CELL_SIZE])
{
    double a = row->of[SIDE_A].count, b = row->of[SIDE_B].count;
    if (row->kind == DIFF_STEPS || row->kind == DIFF_MEMORY || row->kind == DIFF_RANKS ||
        row->kind == DIFF_MACHINES)
        return "";
    if (a == b || !row->of[SIDE_A].is_there || !row->of[SIDE_B].is_there)
        snprintf(text, CELL_SIZE, "%.4g", row->of[SIDE_B].is_there ? b : a);
    else
        snprintf(text, CELL_SIZE, "%.4g \xE2\x86\x92 %.4g", a, b);
    return text;
}

static void put_bandwidths(struct output *out, const struct diff_row *row)
{
    const struct figures *a = &row->of[SIDE_A], *b = &row->of[SIDE_B];
    if (a->bandwidth > 0 && b->bandwidth > 0)
        output_format(out, ", bus %.3g \xE2\x86\x92 %.3g GB/s", a->bandwidth, b->bandwidth);
}

/* The name with its layer and shape, and how it was matched. */
static void put_name(struct output *out, const struct diff_row *row)
{
    size_t variants = row->group->rows[SIDE_A].count + row->group->rows[SIDE_B].count;
    output_write(out, row->name.data, row->name.size);
    if (row->shape.size > 0)
        output_format(out, " %.*s", (int)row->shape.size, row->shape.data);
    if (row->layer.size > 0)
        output_format(out, row->kind == DIFF_RANKS ? " on %.*s" : " in %.*s", (int)row->layer.size,
                      row->layer.data);
    put_bandwidths(out, row);
    if (row->match == MATCH_NAME)
        output_format(out, " (%zu names alike)", variants);
    if (row->match == MATCH_SHAPE)
        output_format(out, " (%zu shapes)", variants);
    if (row->match == MATCH_LAYER)
        output_text(out,
                    row->kind == DIFF_RANKS ? " (on another machine)" : " (communicators differ)");
}

/* --- before the rows --- */

static void put_side(struct output *out, const char *letter, const struct diff_side *side)
{
    const struct side_step *step;
    const char *before = "; left out as warming up: step ";
    output_format(out, "%s  ", letter);
    put_printable(out, text_of(side->name));
    output_format(out, ": %zu step%s", side->steps.count, side->steps.count == 1 ? "" : "s");
    if (side->is_run)
        output_format(out, ", %" PRIu64 " rank%s", side->rank_count,
                      side->rank_count == 1 ? "" : "s");
    if (side->device_count > 0) {
        output_format(out, ", %zu device%s%s", side->device_count,
                      side->device_count == 1 ? "" : "s", side->device_name ? " " : "");
        put_printable(out, text_of(side->device_name ? side->device_name : ""));
    }
    array_each (step, &side->steps) {
        if (!step->is_left_out)
            continue;
        output_format(out, "%s%lld", before, (long long)step->number);
        before = ", ";
    }
    output_char(out, '\n');
}

static void put_verdict(struct output *out, const struct diff *diff)
{
    static const char *const tests[] = {
        [TEST_NONE] = "", [TEST_WELCH] = "Welch's t-test", [TEST_RANKS] = "Mann-Whitney U test"};
    const struct diff_row *step = diff->step;
    char a[CELL_SIZE], b[CELL_SIZE], change[CELL_SIZE], percent[CELL_SIZE], p[CELL_SIZE];
    output_format(out, "Mean step time %s \xE2\x86\x92 %s, %s (%s)",
                  format_amount(NULL, step->of[SIDE_A].amount, false, a),
                  format_amount(NULL, step->of[SIDE_B].amount, false, b),
                  step->difference == 0 ? "no change"
                                        : format_amount(NULL, step->difference, true, change),
                  format_percent(step->ratio, percent));
    if (diff->test != TEST_NONE)
        output_format(out, ", %s: p %s%s, %s", significance_words[step->significance],
                      step->adjusted_p < 0.0001 ? "" : "= ", format_p(step, p), tests[diff->test]);
    output_format(out, "\nMedian         %s \xE2\x86\x92 %s\n",
                  format_amount(NULL, diff->medians[SIDE_A], false, a),
                  format_amount(NULL, diff->medians[SIDE_B], false, b));
}

/* --- what explains the step time --- */

static const struct column part_columns[] = {
    {"Part", true, true}, {"A", false, false}, {"B", false, false}, {"Difference", false, false}};
enum { PART_COLUMNS = sizeof part_columns / sizeof *part_columns };

static void put_cause(struct table *table, const char *name, const struct diff_row *row,
                      double difference)
{
    struct output text;
    char cell[CELL_SIZE], a[CELL_SIZE], b[CELL_SIZE];
    output_memory(&text);
    output_text(&text, "  ");
    if (row)
        put_name(&text, row);
    else
        output_text(&text, name);
    table_text(table, (struct text){text.data, text.size});
    table_text(table, text_of(row ? format_side(row, SIDE_A, a) : ""));
    table_text(table, text_of(row ? format_side(row, SIDE_B, b) : ""));
    table_text(table, text_of(format_amount(row, difference, true, cell)));
    output_discard(&text);
}

/* Differences below a nanosecond are not shown. */
static bool is_seen(double difference)
{
    return fabs(difference) >= 1;
}

static void put_part(struct table *table, const struct contribution *part)
{
    char cell[CELL_SIZE], others[CELL_SIZE];
    table_text(table, text_of(part->name));
    table_text(table, text_of(format_amount(NULL, part->of[SIDE_A], false, cell)));
    table_text(table, text_of(format_amount(NULL, part->of[SIDE_B], false, cell)));
    table_text(table, text_of(format_amount(NULL, part->difference, true, cell)));
    if (!part->has_rows)
        return;
    for (size_t i = 0; i < part->cause_count; i++)
        if (is_seen(part->causes[i]->difference))
            put_cause(table, NULL, part->causes[i], part->causes[i]->difference);
    snprintf(others, sizeof others, "other %s", part->rows_name);
    if (is_seen(part->others))
        put_cause(table, others, NULL, part->others);
    if (is_seen(part->rest))
        put_cause(table, part->rest_name, NULL, part->rest);
}

static struct table parts_table(const struct diff *diff)
{
    struct table table = table_begin(part_columns, PART_COLUMNS);
    char cell[CELL_SIZE];
    for (size_t i = 0; i < diff->contribution_count; i++) {
        const struct contribution *part = &diff->contributions[i];
        if (part->of[SIDE_A] > 0 || part->of[SIDE_B] > 0)
            put_part(&table, part);
    }
    table_text(&table, TEXT("step time"));
    table_text(&table, text_of(format_amount(NULL, diff->step->of[SIDE_A].amount, false, cell)));
    table_text(&table, text_of(format_amount(NULL, diff->step->of[SIDE_B].amount, false, cell)));
    table_text(&table, text_of(format_amount(NULL, diff->step->difference, true, cell)));
    return table;
}

/* --- rows --- */

static const struct column row_columns[] = {{"Change", true, false}, {"A", false, false},
                                            {"B", false, false},     {"Difference", false, false},
                                            {"", false, false},      {"p", false, false},
                                            {"Count", false, false}, {"Name", true, true}};
enum { ROW_COLUMNS = sizeof row_columns / sizeof *row_columns };

static void put_row(struct table *table, const struct diff_row *row)
{
    struct output name;
    char cell[CELL_SIZE];
    table_text(table, text_of(change_word(row)));
    for (enum side side = SIDE_A; side < SIDES; side++)
        table_text(table, text_of(format_side(row, side, cell)));
    table_text(table, text_of(format_amount(row, row->difference, true, cell)));
    table_text(table, text_of(format_percent(row->ratio, cell)));
    table_text(table, text_of(format_p(row, cell)));
    table_text(table, text_of(format_counts(row, cell)));
    output_memory(&name);
    put_name(&name, row);
    table_text(table, (struct text){name.data, name.size});
    output_discard(&name);
}

/* The rows of a kind that changed; all that are asked for by the kind's name. */
static struct table rows_table(const struct diff *diff, const struct diff_options *options,
                               enum diff_kind kind, size_t counts[static CHANGES])
{
    static const struct column excess_columns[] = {
        {"Change", true, false},      {"A", false, false},         {"B", false, false},
        {"Difference", false, false}, {"Of median", false, false}, {"p", false, false},
        {"Count", false, false},      {"Name", true, true}};
    static_assert(sizeof excess_columns == sizeof row_columns, "they differ in a title");
    bool is_excess = kind == DIFF_RANKS || kind == DIFF_MACHINES;
    struct table table = table_begin(is_excess ? excess_columns : row_columns, ROW_COLUMNS);
    const struct diff_row *row;
    array_each (row, &diff->rows) {
        if (row->kind != kind)
            continue;
        bool is_wanted = row->change != CHANGE_NONE || options->kind == kind;
        if (is_row_shown(options, row, counts[row->change]++) && is_wanted)
            put_row(&table, row);
    }
    return table;
}

/* How many rows there are of each change. */
static void put_tally(struct output *out, enum diff_kind kind, const size_t counts[static CHANGES],
                      bool is_tested)
{
    bool is_memory = kind == DIFF_MEMORY;
    output_format(out, "%zu %s, %zu %s, %zu new, %zu gone, %zu %s", counts[CHANGE_MORE],
                  is_memory ? "more" : "slower", counts[CHANGE_LESS], is_memory ? "less" : "faster",
                  counts[CHANGE_NEW], counts[CHANGE_GONE], counts[CHANGE_NONE],
                  is_tested && !is_memory ? "without significant change" : "the same");
}

static bool has_kind(const struct diff *diff, const struct diff_options *options,
                     enum diff_kind kind)
{
    const struct diff_row *row;
    if (options->kind != DIFF_KINDS && options->kind != kind)
        return false;
    array_each (row, &diff->rows)
        if (row->kind == kind)
            return true;
    return false;
}

static void put_text_heading(struct output *out, const struct text_style *style, const char *text)
{
    output_format(out, "\n%s%s%s", style->colored ? "\033[1m" : "", text,
                  style->colored ? "\033[0m" : "");
}

static void put_kind(const struct diff *diff, const struct diff_options *options,
                     enum diff_kind kind, struct output *out)
{
    size_t counts[CHANGES] = {0};
    struct table table = rows_table(diff, options, kind, counts);
    put_text_heading(out, &options->style, kind_titles[kind]);
    output_text(out, " (");
    put_tally(out, kind, counts, diff->test != TEST_NONE);
    output_text(out, ")\n");
    if (table.cells.count > 0)
        table_end(&table, &options->style, out);
}

void diff_write_text(const struct diff *diff, const struct diff_options *options,
                     struct output *out)
{
    const char *note = diff_note(diff);
    for (size_t i = 0; i < diff->warnings.count; i++)
        output_format(out, "Warning: %s\n", diff->warnings.items[i]);
    put_side(out, "A", diff->sides[SIDE_A]);
    put_side(out, "B", diff->sides[SIDE_B]);
    output_format(out, "%s%s", note ? note : "", note ? "\n" : "");
    if (diff->step)
        put_verdict(out, diff);
    if (diff->contribution_count > 0) {
        struct table table = parts_table(diff);
        put_text_heading(out, &options->style, "What the step time consists of\n");
        table_end(&table, &options->style, out);
    }
    if (diff->step && diff->contribution_count == 0)
        output_format(out, "%s\n", NO_PARTS);
    for (enum diff_kind kind = 0; kind < DIFF_KINDS; kind++)
        if (has_kind(diff, options, kind))
            put_kind(diff, options, kind, out);
}

/* --- Markdown --- */

static const struct markdown_style markdown = {.has_code = true};

static void put_markdown_kind(const struct diff *diff, const struct diff_options *options,
                              enum diff_kind kind, struct output *out)
{
    size_t counts[CHANGES] = {0};
    struct table table = rows_table(diff, options, kind, counts);
    output_format(out, "\n## %s\n\n", kind_titles[kind]);
    put_tally(out, kind, counts, diff->test != TEST_NONE);
    output_text(out, ".\n");
    if (table.cells.count > 0) {
        output_char(out, '\n');
        table_end_markdown(&table, &markdown, out);
    }
}

/* The same order as the text report: the verdict comes before the details. */
void diff_write_markdown(const struct diff *diff, const struct diff_options *options,
                         struct output *out)
{
    const char *note = diff_note(diff);
    output_text(out, "# Comparison\n\n");
    for (size_t i = 0; i < diff->warnings.count; i++)
        output_format(out, "**Warning:** %s\n\n", diff->warnings.items[i]);
    output_text(out, "- ");
    put_side(out, "A", diff->sides[SIDE_A]);
    output_text(out, "- ");
    put_side(out, "B", diff->sides[SIDE_B]);
    if (note)
        output_format(out, "\n%s\n", note);
    if (diff->step) {
        output_char(out, '\n');
        put_verdict(out, diff);
    }
    if (diff->contribution_count > 0) {
        struct table table = parts_table(diff);
        output_text(out, "\n## What the step time consists of\n\n");
        table_end_markdown(&table, &markdown, out);
    }
    if (diff->step && diff->contribution_count == 0)
        output_format(out, "\n%s\n", NO_PARTS);
    for (enum diff_kind kind = 0; kind < DIFF_KINDS; kind++)
        if (has_kind(diff, options, kind))
            put_markdown_kind(diff, options, kind, out);
}
