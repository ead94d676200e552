/*
 * Inside device: unions of intervals.
 */
#ifndef KYMO_ANALYZE_DEVICE_INTERVALS_H
#define KYMO_ANALYZE_DEVICE_INTERVALS_H

#include "analyze/device/device.h"

/* Sorts and merges what touches; intervals without duration are left out. Fast when the list is
 * made of sorted parts. */
void intervals_merge(device_intervals *intervals);
static inline void interval_add(device_intervals *intervals, int64_t start_ps, int64_t end_ps)
{
    *array_push(intervals) = (struct device_interval){start_ps, end_ps};
}
static inline int64_t interval_length(int64_t start_ps, int64_t end_ps)
{
    return end_ps > start_ps ? sub_saturated(end_ps, start_ps) : 0;
}

#endif
