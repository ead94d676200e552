/*
 * The thread of libkymo-cuda: decodes what CUPTI has handed over, has it hand over more, and opens
 * and closes the windows of a sampled capture.
 */
#ifndef KYMO_CAPTURE_CUDA_WORKER_H
#define KYMO_CAPTURE_CUDA_WORKER_H

#include "capture/cuda/options/gpu_options.h"

/* False when there is no thread to be had. */
bool worker_start(const struct gpu_options *options);
/* Returns when all that was handed over is in the file, and a window that was open. */
void worker_stop(void);

/* In the child of a fork: the thread is not there. */
void worker_forked(void);

#endif
