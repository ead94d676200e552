/*
 * Clock correlation: a device has its own clock; at sync points both clocks are read at once.
 * Device times are converted to host times by linear interpolation between the two nearest sync
 * points, and beyond the first and last by the slope of a least-squares fit. A single point only
 * gives an offset.
 */
#ifndef KYMO_MODEL_CLOCK_FIT_H
#define KYMO_MODEL_CLOCK_FIT_H

#include "base/base.h"

struct clock_point {
    int64_t device_ns, host_ns;
    bool has_run;
    uint64_t run; /* the execution after which the clocks were read */
};

struct clock_fit {
    ARRAY(struct clock_point) points; /* sorted by device time once finished */
    struct idmap by_run;              /* run -> its last point */
    double slope;                     /* host time per device time */
};

/* A zeroed fit is empty. Add points in any order, then finish it once. */
void clock_fit_add(struct clock_fit *fit, struct clock_point point);
void clock_fit_finish(struct clock_fit *fit);
void clock_fit_free(struct clock_fit *fit);

/* Converts a device time to host time; there must be at least one point. Times of a run that has a
 * point are relative to that one. */
int64_t clock_fit_host_ns(const struct clock_fit *fit, int64_t device_ns);
int64_t clock_fit_host_ns_of_run(const struct clock_fit *fit, int64_t device_ns, uint64_t run);

#endif
