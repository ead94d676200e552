/*
 * Inside fleet: clocks of machines, aligned by what happened at the same time on several of them.
 */
#ifndef KYMO_REPORT_FLEET_CLOCK_H
#define KYMO_REPORT_FLEET_CLOCK_H

#include "base/base.h"

struct clock_sample {
    uint32_t match;   /* samples of the same match were taken at the same time */
    uint32_t machine; /* at most once in a match */
    double time_ns;   /* by the machine's clock */
};

/* aligned = time + offset_ns + drift_ppm * 1e-6 * (time - reference) */
struct machine_clock {
    double offset_ns, drift_ppm;
    double error_ns; /* robust standard deviation of what is left between its samples and those of
                        the others */
    uint64_t samples;
    uint32_t component; /* clocks of different components cannot be compared */
};

/* Fits the clocks to samples, which are sorted by match. The offsets and drifts of a component have
 * the mean 0. */
void clocks_fit(const struct clock_sample *samples, size_t count, struct machine_clock *clocks,
                size_t machines, double *reference_ns);

#endif
