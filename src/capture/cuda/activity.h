/*
 * Activity records of CUPTI: which are asked for, and their way into the capture.
 */
#ifndef KYMO_CAPTURE_CUDA_ACTIVITY_H
#define KYMO_CAPTURE_CUDA_ACTIVITY_H

#include "capture/cuda/buffers.h"
#include "capture/cuda/cupti.h"
#include "capture/cuda/options/gpu_options.h"

/* Registers the buffers and enables what the level of detail needs; false when CUPTI refuses:
 * `problem` says why. */
bool activity_start(const struct cupti *cupti, const struct gpu_options *options, bool attached,
                    char problem[static 256]);
/* Turns what comes in windows on or off. */
void activity_enable(bool is_on);
/* Has CUPTI hand over the records of what has ended, or all there are. */
void activity_flush(bool all);
/* Ends the recording; the last buffers are handed over before it returns. */
void activity_stop(void);
/* Puts the records of a buffer into the file, and gives it back. */
void activity_decode(const struct filled *filled);

#endif
