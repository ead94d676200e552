/*
 * Hardware counters, sampled by the devices themselves at short intervals (CUPTI's PM sampling); a
 * thread of its own reads the samples.
 */
#ifndef KYMO_CAPTURE_CUDA_PM_SAMPLING_H
#define KYMO_CAPTURE_CUDA_PM_SAMPLING_H

#include "capture/cuda/cupti.h"
#include "capture/cuda/options/gpu_options.h"

/* Does nothing without metrics. One message reports what a device cannot do. */
void pm_sampling_start(const struct cupti *cupti, const struct gpu_options *options);
void pm_sampling_stop(void);

/* A device to be sampled from now on. */
void pm_sampling_add(uint32_t device);

/* Around fork; in the child the thread is not there. */
void pm_sampling_lock(void);
void pm_sampling_unlock(void);
void pm_sampling_forked(void);

#endif
