/*
 * The thread of libkymo-cuda: decodes the buffers that CUPTI has handed over, asks it for more, and
 * opens and closes the windows of a sampled capture.
 */
#ifndef KYMO_CAPTURE_CUDA_WORKER_H
#define KYMO_CAPTURE_CUDA_WORKER_H

#include "capture/cuda/options/gpu_options.h"

/* False when no thread can be created. */
bool worker_start(const struct gpu_options *options);
/* Returns when everything that was handed over, and an open window, is in the file. */
void worker_stop(void);

/* In the child of a fork: the thread is not there. */
void worker_forked(void);

#endif
