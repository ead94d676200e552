/*
 * Options of kymo inspect for GPUs, and what the environment of the command needs to record them.
 */
#ifndef KYMO_CLI_INSPECT_GPU_H
#define KYMO_CLI_INSPECT_GPU_H

#include "capture/cuda/options/gpu_options.h"
#include "cli/cli.h"

struct inspect_gpu {
    const char *device; /* auto, cuda or none */
    bool torch_operators;
    const char *values[GPU_KEYS];
};

enum { INSPECT_GPU_OPTIONS = 2 + GPU_KEYS };

/* Writes the entries of the table of options. */
void inspect_gpu_options(struct inspect_gpu *gpu, struct option options[INSPECT_GPU_OPTIONS]);
/* Checks flags and variables; EXIT_USAGE after a message. */
int inspect_gpu_check(const struct inspect_gpu *gpu);
/* Sets the variables of the command. Takes the paths of libkymo-cuda and of the folder with
 * Python's start-up code; NULL if missing. */
bool inspect_gpu_prepare(const struct inspect_gpu *gpu, const char *library, const char *python,
                         struct error *err);

#endif
