/*
 * Percentiles. There is one definition for every page and command: a value between the two nearest
 * ranks is interpolated, as in NumPy's default and DuckDB's quantile_cont and median.
 */
#ifndef KYMO_BASE_PERCENTILE_H
#define KYMO_BASE_PERCENTILE_H

#include <stddef.h>

/* Of values in ascending order, of which there is at least one; the share is from 0 to 1. */
double percentile_sorted(const double *values, size_t count, double share);
/* Of values in any order, which are moved: in linear time. */
double percentile_of(double *values, size_t count, double share);

static inline double percentile_median(double *values, size_t count)
{
    return percentile_of(values, count, 0.5);
}

#endif
