/*
 * Occupancy of a kernel.
 */
#ifndef KYMO_IMPORT_RECORDING_GPU_OCCUPANCY_H
#define KYMO_IMPORT_RECORDING_GPU_OCCUPANCY_H

#include "import/recording/gpu_file.h"

/* The share of a multiprocessor's warps that blocks of this shape can keep busy, in percent; 0 when
 * the device's properties are not known. */
double gpu_occupancy(const struct gpu_device *device, const struct gpu_shape *shape);

#endif
