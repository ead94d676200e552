/*
 * gpu: options of GPU captures. `kymo inspect` takes them as flags and hands them to libkymo-cuda,
 * inside the program, as environment variables.
 */
#ifndef KYMO_CAPTURE_CUDA_OPTIONS_GPU_OPTIONS_H
#define KYMO_CAPTURE_CUDA_OPTIONS_GPU_OPTIONS_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gpu_detail { GPU_GRAPHS, GPU_KERNELS, GPU_SAMPLED };

struct gpu_options {
    enum gpu_detail detail;
    const char *calls; /* names of CUDA calls to record besides launches, with commas; or NULL */
    uint64_t window_ns, period_ns;                          /* of sampled */
    uint64_t most_calls, most_activities, most_annotations; /* 0: any number */
    uint64_t devices;                                       /* only the first ones; 0: all */
    uint64_t counter_interval_ms; /* of power, clocks and the like; 0: none */
    const char *metrics;          /* hardware counters to sample, with commas; or NULL */
    uint64_t metric_interval_us, metric_buffer_mb; /* 0: the default */
    bool nvtx, nodes;                              /* annotations; nodes of graphs */
    bool graph_trace;                              /* the same as GPU_GRAPHS, by another name */
    bool has_detail;                               /* it was set */
};

#define GPU_OPTIONS                                                                                \
    {.detail = GPU_KERNELS,                                                                        \
     .window_ns = 50000000,                                                                        \
     .period_ns = 1000000000,                                                                      \
     .counter_interval_ms = 100,                                                                   \
     .nvtx = true,                                                                                 \
     .nodes = true}

/* What can be set. Except for the first two and the last, names are those of XProf's options. */
struct gpu_option_key {
    const char *name;     /* as in XProf */
    const char *flag;     /* the same, as an option of kymo inspect */
    const char *variable; /* KYMO_ and the name in capitals */
    const char *argument, *help;
    const char *const *words; /* that the value may be, NULL-terminated; NULL: a number */
};
enum { GPU_KEYS = 13 };
extern const struct gpu_option_key gpu_keys[GPU_KEYS];

/* The word for a set of hardware counters that suits most programs. */
#define GPU_USUAL_METRICS "default"
enum { GPU_METRIC_INTERVAL_US = 500, GPU_METRIC_BUFFER_MB = 64 };

/* Sets one; false when the value is invalid. The message does not name the key. */
bool gpu_option_set(struct gpu_options *options, size_t key, const char *value, struct error *err);
/* False when options contradict each other. */
bool gpu_options_check(const struct gpu_options *options, struct error *err);
/* Those in the environment. An invalid value is passed to `complain` and ignored. */
void gpu_options_from_environment(struct gpu_options *options,
                                  void (*complain)(const struct error *err));

#endif
