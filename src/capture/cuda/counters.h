/*
 * Power, clocks, temperature, memory, utilization and links of the devices, sampled at intervals by
 * a thread of its own: NVML may take its time, and windows and buffers do not wait for it.
 */
#ifndef KYMO_CAPTURE_CUDA_COUNTERS_H
#define KYMO_CAPTURE_CUDA_COUNTERS_H

#include "capture/cuda/cupti.h"
#include "capture/cuda/options/gpu_options.h"

/* Without a thread or NVML there are no counters; a message is printed. */
void counters_start(const struct gpu_options *options);
void counters_stop(void);

/* A device to be sampled from now on, by the number and the id that CUDA has for it. */
void counters_add(const struct cupti_device *device);

/* Around fork; in the child the thread is not there. */
void counters_lock(void);
void counters_unlock(void);
void counters_forked(void);

#endif
