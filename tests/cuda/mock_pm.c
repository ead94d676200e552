/*
 * The part of the stand-in for libcupti that samples hardware counters; versions before CUDA 12.6
 * do not have it. Sizes of structures are those of the published headers. The results that
 * MOCK_CUPTI_ERRORS names come first; calls that the real one refuses end the program.
 */
#include "mock_pm.h"

#include "mock_calls.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define API __attribute__((visibility("default")))
enum { DONE = 0, INVALID = 1, UNKNOWN = 999 };
enum { DEVICES = 4, SAMPLES = 8192, MOST_METRICS = 64, FULL = 1, OTHER = 0 };

/* In the order of their values. The hardware counts warps or instructions, and never the last. */
static const char *const metrics[] = {
    "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes_read.sum.per_second",
    "dram__bytes_write.sum.per_second",
    "sm__warps_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
};
enum { METRICS = sizeof metrics / sizeof *metrics, WARPS = 4, INSTRUCTIONS = 5, WIDE = 6 };

struct sample {
    uint64_t start, end;
    double value;
};

struct sampler {
    uint32_t device;
    bool is_configured, is_on;
};

struct host {
    uint32_t count, numbers[MOST_METRICS];
};

/* What a counter data image holds. */
struct data {
    uint64_t magic, most, count;
    struct sample samples[];
};
#define MAGIC 0x676e696c706d6173u

static struct {
    pthread_mutex_t lock;
    struct sampler samplers[DEVICES];
    struct sample queue[DEVICES][SAMPLES];
    size_t count[DEVICES];
    uint32_t failure;
    bool is_initialized;
} mock = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void check(bool is_right, const char *what)
{
    if (is_right)
        return;
    fprintf(stderr, "mock: %s\n", what);
    abort();
}

#define called(...) mock_called("MOCK_CUPTI_LOG", "MOCK_CUPTI_ERRORS", __VA_ARGS__)

#define ENTER(expected, ...)                                                                       \
    do {                                                                                           \
        check(p->size == (expected) && !p->reserved, "the parameters have another size");          \
        uint32_t result = called(__VA_ARGS__);                                                     \
        if (result != DONE)                                                                        \
            return result;                                                                         \
    } while (0)

struct object_parameters {
    size_t size;
    void *reserved, *object;
};

/* ---- What the host knows ------------------------------------------------------------------- */

API uint32_t cuptiProfilerInitialize(struct object_parameters *p)
{
    ENTER(16, "cuptiProfilerInitialize");
    mock.is_initialized = true;
    return DONE;
}

struct device_parameters {
    size_t size;
    void *reserved;
    size_t device;
    void *out;
    uint8_t *image;
};

API uint32_t cuptiDeviceGetChipName(struct device_parameters *p)
{
    static char name[] = "MOCK100";
    ENTER(32, "cuptiDeviceGetChipName(%zu)", p->device);
    p->out = name;
    return p->device < DEVICES ? DONE : INVALID;
}

API uint32_t cuptiPmSamplingGetCounterAvailability(struct device_parameters *p)
{
    ENTER(40, "cuptiPmSamplingGetCounterAvailability(%zu)", p->device);
    check(mock.is_initialized, "the profiler is not initialized");
    if (p->image)
        memset(p->image, 7, (size_t)p->out);
    p->out = (void *)100;
    return DONE;
}

struct host_parameters {
    size_t size;
    void *reserved;
    uint32_t type;
    const char *chip;
    const uint8_t *availability;
    void *object;
};

API uint32_t cuptiProfilerHostInitialize(struct host_parameters *p)
{
    ENTER(48, "cuptiProfilerHostInitialize");
    if (p->type != 1 || strcmp(p->chip, "MOCK100") != 0 || !p->availability ||
        p->availability[99] != 7)
        return INVALID;
    p->object = calloc(1, sizeof(struct host));
    return DONE;
}

API uint32_t cuptiProfilerHostDeinitialize(struct object_parameters *p)
{
    ENTER(24, "cuptiProfilerHostDeinitialize");
    free(p->object);
    return DONE;
}

struct metrics_parameters {
    size_t size;
    void *reserved, *object;
    const char **names;
    size_t count;
    uint32_t most;
    size_t out;
};

static uint32_t find(const char *name)
{
    uint32_t i = 0;
    while (i < METRICS && strcmp(metrics[i], name) != 0)
        i++;
    return i;
}

API uint32_t cuptiProfilerHostConfigAddMetrics(struct metrics_parameters *p)
{
    ENTER(40, "cuptiProfilerHostConfigAddMetrics");
    struct host *host = p->object;
    for (size_t i = 0; i < p->count; i++) {
        uint32_t number = find(p->names[i]);
        if (number == METRICS)
            return strncmp(p->names[i], "nvl", 3) == 0 ? UNKNOWN : INVALID;
        host->numbers[host->count++] = number;
    }
    return DONE;
}

struct image_parameters {
    size_t size;
    void *reserved, *object;
    size_t image_size;
    uint8_t *image;
};

API uint32_t cuptiProfilerHostGetConfigImageSize(struct image_parameters *p)
{
    ENTER(32, "cuptiProfilerHostGetConfigImageSize");
    p->image_size = sizeof(struct host);
    return DONE;
}

API uint32_t cuptiProfilerHostGetConfigImage(struct image_parameters *p)
{
    ENTER(40, "cuptiProfilerHostGetConfigImage");
    check(p->image_size == sizeof(struct host), "the image has another size");
    memcpy(p->image, p->object, sizeof(struct host));
    return DONE;
}

struct passes_parameters {
    size_t size;
    void *reserved;
    size_t image_size;
    const uint8_t *image;
    size_t passes;
};

static bool has(const struct host *host, uint32_t number)
{
    for (uint32_t i = 0; i < host->count; i++)
        if (host->numbers[i] == number)
            return true;
    return false;
}

API uint32_t cuptiProfilerHostGetNumOfPasses(struct passes_parameters *p)
{
    ENTER(40, "cuptiProfilerHostGetNumOfPasses");
    struct host host;
    memcpy(&host, p->image, sizeof host);
    p->passes = 1u + (has(&host, WARPS) && has(&host, INSTRUCTIONS)) + has(&host, WIDE);
    return DONE;
}

/* ---- The device ---------------------------------------------------------------------------- */

API uint32_t cuptiPmSamplingEnable(struct device_parameters *p)
{
    ENTER(32, "cuptiPmSamplingEnable(%zu)", p->device);
    check(mock.is_initialized && p->device < DEVICES, "there is no such device");
    mock.samplers[p->device].device = (uint32_t)p->device;
    p->out = &mock.samplers[p->device];
    return DONE;
}

API uint32_t cuptiPmSamplingDisable(struct object_parameters *p)
{
    struct sampler *sampler = p->object;
    ENTER(24, "cuptiPmSamplingDisable(%u)", sampler->device);
    sampler->is_configured = sampler->is_on = false;
    return DONE;
}

struct config_parameters {
    size_t size;
    void *reserved, *object;
    size_t image_size;
    const uint8_t *image;
    size_t buffer_size;
    uint64_t interval;
    uint32_t trigger, append_mode;
};

API uint32_t cuptiPmSamplingSetConfig(struct config_parameters *p)
{
    struct sampler *sampler = p->object;
    ENTER(64, "cuptiPmSamplingSetConfig(%u,%zu,%llu,%u,%u)", sampler->device, p->buffer_size,
          (unsigned long long)p->interval, p->trigger, p->append_mode);
    check(p->image_size == sizeof(struct host) && ((const struct host *)p->image)->count > 0,
          "the configuration has no metrics");
    sampler->is_configured = true;
    return DONE;
}

API uint32_t cuptiPmSamplingStart(struct object_parameters *p)
{
    struct sampler *sampler = p->object;
    ENTER(24, "cuptiPmSamplingStart(%u)", sampler->device);
    check(sampler->is_configured && !sampler->is_on, "sampling cannot be started");
    sampler->is_on = true;
    return DONE;
}

API uint32_t cuptiPmSamplingStop(struct object_parameters *p)
{
    struct sampler *sampler = p->object;
    ENTER(24, "cuptiPmSamplingStop(%u)", sampler->device);
    check(sampler->is_on, "sampling is not on");
    sampler->is_on = false;
    return DONE;
}

/* ---- Counter data -------------------------------------------------------------------------- */

API uint32_t cuptiPmSamplingGetCounterDataSize(struct metrics_parameters *p)
{
    ENTER(56, "cuptiPmSamplingGetCounterDataSize");
    p->out = sizeof(struct data) + p->most * sizeof(struct sample);
    return DONE;
}

API uint32_t cuptiPmSamplingCounterDataImageInitialize(struct image_parameters *p)
{
    ENTER(40, "cuptiPmSamplingCounterDataImageInitialize");
    struct data *data = (struct data *)(void *)p->image;
    *data = (struct data){MAGIC, (p->image_size - sizeof *data) / sizeof *data->samples, 0};
    return DONE;
}

struct decode_parameters {
    size_t size;
    void *reserved, *object;
    uint8_t *data;
    size_t data_size;
    uint32_t stop_reason;
    uint8_t has_overflown;
};

API uint32_t cuptiPmSamplingDecodeData(struct decode_parameters *p)
{
    struct sampler *sampler = p->object;
    struct data *data = (struct data *)(void *)p->data;
    ENTER(45, "cuptiPmSamplingDecodeData(%u)", sampler->device);
    check(data->magic == MAGIC && data->count == 0, "the counter data is not empty");
    pthread_mutex_lock(&mock.lock);
    uint32_t result = mock.failure;
    size_t *count = &mock.count[sampler->device];
    mock.failure = DONE;
    p->stop_reason = *count > data->most ? FULL : OTHER;
    data->count = result != DONE ? 0 : *count < data->most ? *count : data->most;
    memcpy(data->samples, mock.queue[sampler->device], data->count * sizeof *data->samples);
    *count -= data->count;
    memmove(mock.queue[sampler->device], mock.queue[sampler->device] + data->count,
            *count * sizeof *data->samples);
    pthread_mutex_unlock(&mock.lock);
    return result;
}

struct info_parameters {
    size_t size;
    void *reserved;
    const uint8_t *data;
    size_t data_size, total, populated, completed;
};

API uint32_t cuptiPmSamplingGetCounterDataInfo(struct info_parameters *p)
{
    ENTER(56, "cuptiPmSamplingGetCounterDataInfo");
    const struct data *data = (const struct data *)(const void *)p->data;
    p->total = data->most;
    p->populated = p->completed = data->count;
    return DONE;
}

struct sample_parameters {
    size_t size;
    void *reserved, *object;
    const uint8_t *data;
    size_t data_size, index;
    uint64_t start, end;
};

API uint32_t cuptiPmSamplingCounterDataGetSampleInfo(struct sample_parameters *p)
{
    ENTER(64, "cuptiPmSamplingCounterDataGetSampleInfo");
    const struct data *data = (const struct data *)(const void *)p->data;
    check(p->index < data->count, "there is no such sample");
    p->start = data->samples[p->index].start;
    p->end = data->samples[p->index].end;
    return DONE;
}

struct values_parameters {
    size_t size;
    void *reserved, *object;
    const uint8_t *data;
    size_t data_size, index;
    const char **names;
    size_t count;
    double *values;
};

API uint32_t cuptiProfilerHostEvaluateToGpuValues(struct values_parameters *p)
{
    ENTER(72, "cuptiProfilerHostEvaluateToGpuValues");
    const struct data *data = (const struct data *)(const void *)p->data;
    for (size_t i = 0; i < p->count; i++) {
        uint32_t number = find(p->names[i]);
        check(has(p->object, number), "the metric was not configured");
        p->values[i] = data->samples[p->index].value + number;
    }
    return DONE;
}

/* ---- What programs of tests ask for -------------------------------------------------------- */

static void add_sample(uint32_t device, uint64_t start, uint64_t end, double value)
{
    pthread_mutex_lock(&mock.lock);
    check(device < DEVICES && mock.count[device] < SAMPLES, "there is no room for samples");
    mock.queue[device][mock.count[device]++] = (struct sample){start, end, value};
    pthread_mutex_unlock(&mock.lock);
}

static void fail(uint32_t result)
{
    pthread_mutex_lock(&mock.lock);
    mock.failure = result;
    pthread_mutex_unlock(&mock.lock);
}

API const struct mock_pm mock_pm = {add_sample, fail};
