/*
 * Clocks: a device counts its own time; now and then both clocks are read at once. From such pairs
 * follows when, in the host's time, something happened on the device: by the line between the two
 * nearest pairs, and beyond them by the slope that fits all pairs best (least squares). What one
 * pair tells is the offset alone.
 */
#ifndef KYMO_TRACE_CLOCK_FIT_H
#define KYMO_TRACE_CLOCK_FIT_H

#include "base/base.h"

struct clock_point {
    int64_t device_ns, host_ns;
    bool has_run;
    uint64_t run; /* the execution behind which the clocks were read */
};

struct clock_fit {
    ARRAY(struct clock_point) points; /* by device time, once finished */
    struct idmap by_run;              /* run -> the last point of it */
    double slope;                     /* host time per device time */
};

/* A zeroed fit is empty. Points come in any order; then it is finished, once. */
void clock_fit_add(struct clock_fit *fit, struct clock_point point);
void clock_fit_finish(struct clock_fit *fit);
void clock_fit_free(struct clock_fit *fit);

/* The host's time of a device time; there must be a point. Times of a run that has a point of its
 * own are counted from that one. */
int64_t clock_fit_host_ns(const struct clock_fit *fit, int64_t device_ns);
int64_t clock_fit_host_ns_of_run(const struct clock_fit *fit, int64_t device_ns, uint64_t run);

#endif
