/*
 * Saturating arithmetic: sums and differences of values from a file must not overflow, whatever the
 * file contains.
 */
#ifndef KYMO_BASE_ARITHMETIC_H
#define KYMO_BASE_ARITHMETIC_H

#include <stdint.h>

static inline int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static inline int64_t sub_saturated(int64_t a, int64_t b)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return b < 0 ? INT64_MAX : INT64_MIN;
    return difference;
}

/* Whole nanoseconds, rounded down. */
static inline int64_t whole_ns(int64_t ps)
{
    return ps / 1000 - (ps % 1000 < 0);
}

/* The remaining picoseconds. */
static inline int64_t rest_ps(int64_t ps)
{
    return ps % 1000 < 0 ? ps % 1000 + 1000 : ps % 1000;
}

#endif
