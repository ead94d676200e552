/*
 * Files of tensors: NumPy's .npy, or bytes as they are.
 */
#ifndef KYMO_NEURON_RUN_RUNNER_ARRAYS_H
#define KYMO_NEURON_RUN_RUNNER_ARRAYS_H

#include "neuron/run/runner/library.h"

/* Reads a tensor's content; size and, of .npy files, element type must be the tensor's. */
bool array_read(const char *path, const nrt_tensor_info_t *tensor, void *data, struct error *err);
/* NumPy has no BF16 and no FP8: in .npy files they are bytes, "V2" and "V1". */
bool array_write(const char *path, const nrt_tensor_info_t *tensor, const void *data, bool is_npy,
                 struct error *err);

#endif
