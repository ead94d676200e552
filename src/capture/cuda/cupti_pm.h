/*
 * The part of CUPTI's sampling of hardware counters that is used, since CUDA 12.6: parameters are
 * structures that begin with their size, which tells the library how much of them it may read.
 */
#ifndef KYMO_CAPTURE_CUDA_CUPTI_PM_H
#define KYMO_CAPTURE_CUDA_CUPTI_PM_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Up to its last field, without the padding that follows it. */
#define CUPTI_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)NULL)->last))

enum { CUPTI_PROFILER_PM_SAMPLING = 1 };
enum cupti_trigger { CUPTI_TRIGGER_CLOCK, CUPTI_TRIGGER_TIME };
enum { CUPTI_KEEP_LATEST = 1 };
enum { CUPTI_COUNTER_DATA_FULL = 1 };

struct cupti_profiler {
    size_t size;
    void *reserved;
};

struct cupti_object { /* a device's sampler, or what knows its metrics */
    size_t size;
    void *reserved, *object;
};

struct cupti_chip_name {
    size_t size;
    void *reserved;
    size_t device;
    const char *name;
};

struct cupti_availability {
    size_t size;
    void *reserved;
    size_t device, image_size;
    uint8_t *image;
};

struct cupti_host {
    size_t size;
    void *reserved;
    uint32_t type;
    const char *chip;
    const uint8_t *availability;
    void *object;
};

struct cupti_metrics {
    size_t size;
    void *reserved, *object;
    const char **names;
    size_t count;
};

struct cupti_image_size {
    size_t size;
    void *reserved, *object;
    size_t image_size;
};

struct cupti_image { /* configuration or counter data */
    size_t size;
    void *reserved, *object;
    size_t image_size;
    uint8_t *image;
};

struct cupti_passes {
    size_t size;
    void *reserved;
    size_t image_size;
    uint8_t *image;
    size_t passes;
};

struct cupti_sampler {
    size_t size;
    void *reserved;
    size_t device;
    void *object;
};

struct cupti_sampler_config {
    size_t size;
    void *reserved, *object;
    size_t image_size;
    const uint8_t *image;
    size_t buffer_size;
    uint64_t interval; /* clocks or ns */
    uint32_t trigger, append_mode;
};

struct cupti_data_size {
    size_t size;
    void *reserved, *object;
    const char **names;
    size_t count;
    uint32_t most_samples;
    size_t data_size;
};

struct cupti_decode {
    size_t size;
    void *reserved, *object;
    uint8_t *data;
    size_t data_size;
    uint32_t stop_reason;
    uint8_t has_overflown;
};

struct cupti_data_info {
    size_t size;
    void *reserved;
    const uint8_t *data;
    size_t data_size;
    size_t total, populated, completed; /* samples */
};

struct cupti_sample {
    size_t size;
    void *reserved, *object;
    const uint8_t *data;
    size_t data_size, index;
    uint64_t start, end;
};

struct cupti_values {
    size_t size;
    void *reserved, *object;
    const uint8_t *data;
    size_t data_size, index;
    const char **names;
    size_t count;
    double *values;
};

static_assert(sizeof(struct cupti_host) == 48 && sizeof(struct cupti_sampler_config) == 64 &&
                  offsetof(struct cupti_data_size, data_size) == 48 &&
                  CUPTI_SIZE(struct cupti_decode, has_overflown) == 45 &&
                  sizeof(struct cupti_sample) == 64 && sizeof(struct cupti_values) == 72,
              "sampling");

#define CUPTI_PM_FUNCTIONS(FUNCTION)                                                               \
    FUNCTION(ProfilerInitialize, (struct cupti_profiler *))                                        \
    FUNCTION(DeviceGetChipName, (struct cupti_chip_name *))                                        \
    FUNCTION(ProfilerHostInitialize, (struct cupti_host *))                                        \
    FUNCTION(ProfilerHostDeinitialize, (struct cupti_object *))                                    \
    FUNCTION(ProfilerHostConfigAddMetrics, (struct cupti_metrics *))                               \
    FUNCTION(ProfilerHostGetConfigImageSize, (struct cupti_image_size *))                          \
    FUNCTION(ProfilerHostGetConfigImage, (struct cupti_image *))                                   \
    FUNCTION(ProfilerHostGetNumOfPasses, (struct cupti_passes *))                                  \
    FUNCTION(ProfilerHostEvaluateToGpuValues, (struct cupti_values *))                             \
    FUNCTION(PmSamplingGetCounterAvailability, (struct cupti_availability *))                      \
    FUNCTION(PmSamplingEnable, (struct cupti_sampler *))                                           \
    FUNCTION(PmSamplingDisable, (struct cupti_object *))                                           \
    FUNCTION(PmSamplingSetConfig, (struct cupti_sampler_config *))                                 \
    FUNCTION(PmSamplingStart, (struct cupti_object *))                                             \
    FUNCTION(PmSamplingStop, (struct cupti_object *))                                              \
    FUNCTION(PmSamplingGetCounterDataSize, (struct cupti_data_size *))                             \
    FUNCTION(PmSamplingCounterDataImageInitialize, (struct cupti_image *))                         \
    FUNCTION(PmSamplingDecodeData, (struct cupti_decode *))                                        \
    FUNCTION(PmSamplingGetCounterDataInfo, (struct cupti_data_info *))                             \
    FUNCTION(PmSamplingCounterDataGetSampleInfo, (struct cupti_sample *))

#endif
