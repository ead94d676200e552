/*
 * Which hardware counters of a device are sampled: those wanted that it has and that fit into one
 * pass.
 */
#ifndef KYMO_CAPTURE_CUDA_PM_METRICS_H
#define KYMO_CAPTURE_CUDA_PM_METRICS_H

#include "capture/cuda/cupti.h"

enum { PM_MOST_METRICS = 64 };

/* What CUPTI needs to know the metrics of a device. */
struct pm_chip {
    uint32_t device;
    const char *name;
    uint8_t *availability;
};

struct pm_metrics {
    const char *names[PM_MOST_METRICS];
    size_t count;
    void *host; /* of CUPTI: evaluates them */
    uint8_t *image;
    size_t image_size; /* the configuration of the hardware */
};

/* The names, with commas, or GPU_USUAL_METRICS, must outlive the metrics. Reports those that are
 * left out; false when none is left, or on failure: `problem` says why. */
bool pm_metrics_choose(const struct cupti *cupti, const struct pm_chip *chip, char *wanted,
                       struct pm_metrics *metrics, char problem[static 256]);
void pm_metrics_free(const struct cupti *cupti, struct pm_metrics *metrics);

/* A result in words, with what to do about it. */
const char *pm_result(const struct cupti *cupti, uint32_t result);

#endif
