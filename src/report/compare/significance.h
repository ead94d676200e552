/*
 * Inside diff: whether two samples differ by more than chance.
 */
#ifndef KYMO_REPORT_COMPARE_SIGNIFICANCE_H
#define KYMO_REPORT_COMPARE_SIGNIFICANCE_H

#include "base/base.h"

enum sample_test { TEST_NONE, TEST_WELCH, TEST_RANKS };
/* From this many values of each sample on ranks are compared, and at least this many are needed. */
enum { RANKS_MIN_VALUES = 8, WELCH_MIN_VALUES = 3 };
/* The share of false alarms that is accepted among what is called significant. */
#define SIGNIFICANCE_LEVEL 0.05

enum sample_test test_for(size_t a_count, size_t b_count);
/* Two-sided p-values. The Mann-Whitney U test by the normal approximation, corrected for ties and
 * continuity; Welch's t-test for unequal variances. Samples of ranks_p are sorted. */
double ranks_p(double *a, size_t a_count, double *b, size_t b_count);
double welch_p(const double *a, size_t a_count, const double *b, size_t b_count);

/* Replaces p-values by those of Benjamini and Hochberg for as many tests; NAN: no test. */
void adjust_p(double *const *values, size_t count);

#endif
