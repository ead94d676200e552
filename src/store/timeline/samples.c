/*
 * The sampling period of a counter, from up to MAX_GAPS distances between its samples.
 */
#include "store/timeline/samples.h"

#include "base/base.h"

enum {
    MAX_GAPS = 1024,
    MIN_GAPS = 8,         /* fewer do not show a period */
    REGULAR_PERCENT = 70, /* of the gaps differ from the period by at most half of it */
    MISSED_PERIODS = 4,   /* a longer gap is a hole */
};

static bool is_shorter(const void *a, const void *b, const void *context)
{
    (void)context;
    return *(const int64_t *)a < *(const int64_t *)b;
}

/* 0 if there is none. */
static int64_t find_period(const int64_t *start_ps, size_t count)
{
    int64_t gaps[MAX_GAPS];
    size_t taken = 0, step = (count + MAX_GAPS - 1) / MAX_GAPS, regular = 0;
    for (size_t i = 0; i + 1 < count && taken < MAX_GAPS; i += step) {
        mem_touched(MEM_JUMP);
        gaps[taken++] = sub_saturated(start_ps[i + 1], start_ps[i]);
    }
    if (taken < MIN_GAPS)
        return 0;
    sort_items(gaps, taken, sizeof *gaps, is_shorter, NULL);
    int64_t period = gaps[taken / 2];
    for (size_t i = 0; i < taken; i++)
        regular += gaps[i] >= period - period / 2 && gaps[i] <= add_saturated(period, period / 2);
    return regular * 100 >= taken * REGULAR_PERCENT ? period : 0;
}

void samples_end(const int64_t *start_ps, int64_t *end_ps, size_t count)
{
    int64_t period = find_period(start_ps, count);
    int64_t longest =
        period > 0 && period <= INT64_MAX / MISSED_PERIODS ? period * MISSED_PERIODS : INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t next = start_ps[i + 1 < count ? i + 1 : i];
        bool is_hole = sub_saturated(next, start_ps[i]) > longest;
        end_ps[i] = is_hole ? start_ps[i] + period : next;
    }
}
