/*
 * Activity records of CUPTI: which are asked for, and their way into the capture.
 */
#ifndef KYMO_CUDA_ACTIVITY_H
#define KYMO_CUDA_ACTIVITY_H

#include "cuda/cupti.h"

enum activity_detail { ACTIVITY_GRAPHS, ACTIVITY_KERNELS };

/* Registers the buffers and enables what the level of detail needs; false when CUPTI refuses:
 * `problem` says why. */
bool activity_start(const struct cupti *cupti, enum activity_detail detail,
                    char problem[static 256]);
/* Has CUPTI hand over the records of what has ended, or all there are. */
void activity_flush(const struct cupti *cupti, bool all);
void activity_stop(const struct cupti *cupti);

#endif
