/*
 * Whether two sides are comparable at all: other devices, another program. Told before any figure.
 */
#include "report/compare/compare.h"

#include <math.h>

/* A program that has less of its time in rows that the other has, too, is another one: a new build
 * of the same renames some kernels, rarely most of the time. */
#define MIN_COMMON_SHARE 0.5

static void add_warning(struct diff *diff, struct output *text)
{
    *array_push(&diff->warnings) = mem_copy_text(text->data, text->size);
    output_discard(text);
}

static bool is_known(const char *name)
{
    return name && name[0];
}

static void compare_devices(struct diff *diff)
{
    const struct diff_side *a = diff->sides[SIDE_A], *b = diff->sides[SIDE_B];
    struct output text;
    output_memory(&text);
    if ((a->device_count > 0) != (b->device_count > 0)) {
        output_format(&text, "Only %s has devices.", a->device_count > 0 ? "A" : "B");
    } else if (is_known(a->device_name) && is_known(b->device_name) &&
               strcmp(a->device_name, b->device_name) != 0) {
        output_text(&text, "The devices differ: A ran on ");
        put_printable(&text, text_of(a->device_name));
        output_text(&text, ", B on ");
        put_printable(&text, text_of(b->device_name));
        output_char(&text, '.');
    } else {
        output_discard(&text);
        return;
    }
    add_warning(diff, &text);
}

static void compare_counts(struct diff *diff)
{
    const struct diff_side *a = diff->sides[SIDE_A], *b = diff->sides[SIDE_B];
    if (diff->is_of_runs || a->device_count == b->device_count || a->device_count == 0 ||
        b->device_count == 0)
        return;
    struct output text;
    output_memory(&text);
    output_format(&text, "The numbers of devices differ: A has %zu, B has %zu.", a->device_count,
                  b->device_count);
    add_warning(diff, &text);
}

/* The share of a side's time in rows of a kind that both sides have; NAN if it has no such rows. */
static double common_share(const struct diff *diff, enum diff_kind kind, enum side side)
{
    double all = 0, common = 0;
    const struct diff_row *row;
    array_each (row, &diff->rows) {
        if (row->kind != kind)
            continue;
        all += row->of[side].total_amount;
        common += row->match == MATCH_NONE ? 0 : row->of[side].total_amount;
    }
    return all > 0 ? common / all : NAN;
}

/* Operators are those of the program wherever it runs, but formats name them differently; kernels
 * depend on the device, and what the host calls mostly on the framework. */
void find_differences(struct diff *diff)
{
    static const struct {
        enum diff_kind kind;
        const char *noun;
    } kinds[] = {
        {DIFF_OPERATORS, "operators"}, {DIFF_KERNELS, "kernels"}, {DIFF_HOST, "host operators"}};
    double of_a = NAN, of_b = NAN;
    const char *noun = NULL;
    compare_devices(diff);
    compare_counts(diff);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double a = common_share(diff, kinds[i].kind, SIDE_A);
        double b = common_share(diff, kinds[i].kind, SIDE_B);
        if (isnan(a) || isnan(b) || (noun && kinds[i].kind == DIFF_HOST))
            continue;
        if (fmin(a, b) >= MIN_COMMON_SHARE)
            return;
        of_a = noun ? of_a : a;
        of_b = noun ? of_b : b;
        noun = noun ? noun : kinds[i].noun;
    }
    if (!noun)
        return;
    struct output text;
    output_memory(&text);
    output_format(&text,
                  "The programs differ: %.0f %% of A's and %.0f %% of B's time in %s is in %s that "
                  "both have.",
                  100 * of_a, 100 * of_b, noun, noun);
    add_warning(diff, &text);
}
