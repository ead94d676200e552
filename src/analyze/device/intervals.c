/*
 * Active time: when engines, DMA and collectives had work.
 */
#include "analyze/device/intervals.h"

static bool by_start(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_interval *)a)->start_ps <
           ((const struct device_interval *)b)->start_ps;
}

void intervals_merge(device_intervals *intervals)
{
    sort_items(intervals->items, intervals->count, sizeof *intervals->items, by_start, NULL);
    size_t kept = 0;
    for (size_t i = 0; i < intervals->count; i++) {
        struct device_interval next = intervals->items[i];
        if (next.end_ps <= next.start_ps)
            continue;
        if (kept > 0 && next.start_ps <= intervals->items[kept - 1].end_ps) {
            int64_t *end = &intervals->items[kept - 1].end_ps;
            *end = *end > next.end_ps ? *end : next.end_ps;
        } else {
            intervals->items[kept++] = next;
        }
    }
    intervals->count = kept;
}

int64_t device_active_ps(const device_intervals *active)
{
    int64_t sum = 0;
    const struct device_interval *interval;
    array_each (interval, active)
        sum = add_saturated(sum, sub_saturated(interval->end_ps, interval->start_ps));
    return sum;
}

const char *device_unit_name(enum device_unit unit)
{
    static const char *const names[DEVICE_UNITS] = {"tensor", "vector", "scalar", "gpsimd",
                                                    "sync",   "dma",    "cc_op",  "cc_cores"};
    return names[unit];
}

/* Every kind of item begins with its times. */
#define ADD_ALL(list, active)                                                                      \
    for (size_t i = 0; i < (list)->count; i++)                                                     \
    interval_add(active, (list)->items[i].start_ps, (list)->items[i].end_ps)

void device_active(const struct device_execution *execution, enum device_unit unit,
                   device_intervals *active)
{
    active->count = 0;
    switch (unit) {
    case DEVICE_UNIT_DMA:
        ADD_ALL(&execution->transfers, active);
        break;
    case DEVICE_UNIT_COLLECTIVES:
        ADD_ALL(&execution->collectives, active);
        break;
    case DEVICE_UNIT_CC_CORES:
        ADD_ALL(&execution->cc_steps, active);
        break;
    default: /* an engine */
        ADD_ALL(&execution->instructions[unit], active);
    }
    intervals_merge(active);
}
