/*
 * Steps to leave out: the first ones, while a program compiles, allocates and fills caches.
 */
#include "base/percentile.h"
#include "report/compare/side.h"

#include <math.h>

/* A step at the start is of warming up if it takes more than the median by 3 standard deviations
 * (estimated by the median absolute deviation, which outliers do not spoil) and by a tenth, as
 * steps of some programs hardly vary. At most half of the steps are left out, and of few none. */
#define MAX_DEVIATIONS 3
#define MIN_EXCESS     0.1
/* Of the median absolute deviation of normally distributed values. */
#define DEVIATIONS_PER_MAD 1.4826
enum { MIN_STEPS = 4 };

void leave_out_warmup(struct diff_side *side)
{
    size_t count = side->steps.count;
    side->kept = count;
    if (count < MIN_STEPS)
        return;
    double *values = mem_zeroed(count, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = side->steps.items[i].duration_ns;
    double middle = percentile_median(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - middle);
    double excess = MAX_DEVIATIONS * DEVIATIONS_PER_MAD * percentile_median(values, count);
    double limit = middle + fmax(excess, MIN_EXCESS * middle);
    for (size_t i = 0; i < count / 2 && side->steps.items[i].duration_ns > limit; i++) {
        side->steps.items[i].is_left_out = true;
        side->kept--;
    }
    mem_free(values);
}
