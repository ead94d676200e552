/*
 * The device writes samples into a buffer of its own, the oldest of which it overwrites when it is
 * full; the thread has CUPTI decode them into counter data, and evaluates the metrics of each.
 * Times are of our clock, as those of activities.
 */
#include "capture/cuda/pm_sampling.h"

#include "base/clock.h"
#include "capture/cuda/pm_metrics.h"
#include "capture/cuda/say.h"
#include "capture/cuda/ticker.h"
#include "capture/cuda/trace_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DEVICES = 64,
    MOST_SAMPLES = 1024, /* of counter data: some 4 KiB for each and each metric */
    SAMPLES_PER_TURN = 256,
    LEAST_TURN_NS = 10000000,
    MOST_TURN_NS = 100000000,
    MOST_FAILURES = 3, /* in a row */
    NAMES_SIZE = 8192,
};

struct device {
    uint32_t id;
    /* Of the thread: */
    bool was_begun, is_on;
    char names[NAMES_SIZE];
    struct pm_metrics metrics;
    void *sampler;
    uint8_t *data;
    size_t data_size;
    uint64_t usual_ns;    /* between samples */
    uint64_t last_end_ns; /* 0: none yet */
    uint32_t failures;
};

static struct {
    struct ticker ticker;
    const struct cupti *cupti;
    char names[NAMES_SIZE]; /* "": none are wanted */
    uint64_t interval_us, buffer_size;
    uint32_t count; /* of devices; only the thread changes those below it */
    struct device *devices[MOST_DEVICES];
} pm = {.ticker = TICKER_INITIALIZER};

/* ---- Samples ------------------------------------------------------------------------------- */

static uint32_t float_bits(double value)
{
    float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static void put_values(const struct device *device, uint64_t start_ns, const double *values)
{
    for (size_t i = 0; i < device->metrics.count; i++)
        if (isfinite(values[i]))
            trace_row(TRACE_SAMPLES,
                      (const uint64_t[]){start_ns, device->id, trace_text(device->metrics.names[i]),
                                         float_bits(values[i])});
}

/* A sample begins where the one before it has ended. Between them, or within one that is longer
 * than usual, are those that were lost; the first begins when it was configured. */
static uint64_t note_times(struct device *device, uint64_t start_ns, uint64_t end_ns,
                           uint64_t *lost)
{
    uint64_t duration = end_ns > start_ns ? end_ns - start_ns : 1;
    if (device->usual_ns == 0 || duration < device->usual_ns / 2)
        device->usual_ns = duration;
    if (duration > device->usual_ns + device->usual_ns / 2)
        start_ns = end_ns - device->usual_ns;
    *lost = device->last_end_ns && start_ns > device->last_end_ns
                ? (start_ns - device->last_end_ns + device->usual_ns / 2) / device->usual_ns
                : 0;
    device->last_end_ns = end_ns;
    return start_ns;
}

/* Evaluating takes long: the file's lock is held only to write. A sample that cannot be read or
 * evaluated counts as lost. */
static void take_sample(struct device *device, size_t index)
{
    double values[PM_MOST_METRICS] = {0};
    struct cupti_sample sample = {.size = sizeof sample,
                                  .object = device->sampler,
                                  .data = device->data,
                                  .data_size = device->data_size,
                                  .index = index};
    struct cupti_values evaluation = {.size = sizeof evaluation,
                                      .object = device->metrics.host,
                                      .data = device->data,
                                      .data_size = device->data_size,
                                      .index = index,
                                      .names = device->metrics.names,
                                      .count = device->metrics.count,
                                      .values = values};
    uint64_t lost = 1, start_ns = 0;
    bool ok = pm.cupti->PmSamplingCounterDataGetSampleInfo(&sample) == CUPTI_SUCCESS;
    if (ok)
        start_ns = note_times(device, sample.start, sample.end, &lost);
    if (ok && pm.cupti->ProfilerHostEvaluateToGpuValues(&evaluation) != CUPTI_SUCCESS) {
        ok = false;
        lost++;
    }
    trace_file_lock();
    trace_lost_samples(lost);
    if (ok)
        put_values(device, start_ns, values);
    trace_file_unlock();
}

static uint32_t clear_data(const struct device *device)
{
    return pm.cupti->PmSamplingCounterDataImageInitialize(&(struct cupti_image){
        sizeof(struct cupti_image), NULL, device->sampler, device->data_size, device->data});
}

static uint32_t decode(struct device *device, bool *is_full)
{
    struct cupti_decode decoded = {.size = CUPTI_SIZE(struct cupti_decode, has_overflown),
                                   .object = device->sampler,
                                   .data = device->data,
                                   .data_size = device->data_size};
    struct cupti_data_info info = {
        .size = sizeof info, .data = device->data, .data_size = device->data_size};
    uint32_t result = pm.cupti->PmSamplingDecodeData(&decoded);
    if (result == CUPTI_SUCCESS)
        result = pm.cupti->PmSamplingGetCounterDataInfo(&info);
    if (result != CUPTI_SUCCESS)
        return result;
    for (size_t i = 0; i < info.completed && i < MOST_SAMPLES; i++)
        take_sample(device, i);
    *is_full = decoded.stop_reason == CUPTI_COUNTER_DATA_FULL;
    return info.completed > 0 ? clear_data(device) : CUPTI_SUCCESS;
}

/* ---- Devices ------------------------------------------------------------------------------- */

static uint32_t control(uint32_t (*function)(struct cupti_object *), const struct device *device)
{
    return function(&(struct cupti_object){sizeof(struct cupti_object), NULL, device->sampler});
}

static void end_device(struct device *device)
{
    if (device->sampler)
        control(pm.cupti->PmSamplingDisable, device);
    pm_metrics_free(pm.cupti, &device->metrics);
    free(device->data);
    device->data = NULL;
    device->sampler = NULL;
    device->is_on = false;
}

/* CUPTI cannot always decode a buffer after overwriting: sampling is then restarted. */
static void restart(struct device *device, uint32_t result)
{
    device->failures++;
    control(pm.cupti->PmSamplingStop, device);
    clear_data(device);
    if (device->failures < MOST_FAILURES &&
        control(pm.cupti->PmSamplingStart, device) == CUPTI_SUCCESS)
        return;
    say("hardware counters of GPU %u are no longer sampled: %s", device->id,
        pm_result(pm.cupti, result));
    end_device(device);
}

static void read_device(struct device *device)
{
    bool is_full = true;
    while (device->is_on && is_full && !ticker_is_stopping(&pm.ticker)) {
        uint32_t result = decode(device, &is_full);
        if (result != CUPTI_SUCCESS) {
            restart(device, result);
            return;
        }
        device->failures = 0;
    }
}

/* The remaining samples are read before the device is released. */
static void finish_device(struct device *device)
{
    bool is_full = device->is_on;
    if (device->is_on)
        control(pm.cupti->PmSamplingStop, device);
    while (is_full && decode(device, &is_full) == CUPTI_SUCCESS)
        ;
    end_device(device);
}

/* ---- The start of a device ----------------------------------------------------------------- */

static const char *missing_function(void)
{
#define FUNCTION(name, parameters)                                                                 \
    if (!pm.cupti->name)                                                                           \
        return "cupti" #name;
    CUPTI_PM_FUNCTIONS(FUNCTION)
#undef FUNCTION
    return NULL;
}

/* Which counters of the device can be read; the image is the caller's. */
static uint32_t read_chip(uint32_t device, struct pm_chip *chip)
{
    struct cupti_profiler profiler = {.size = sizeof profiler};
    struct cupti_chip_name name = {.size = sizeof name, .device = device};
    struct cupti_availability counters = {.size = sizeof counters, .device = device};
    uint32_t result = pm.cupti->ProfilerInitialize(&profiler);
    if (result == CUPTI_SUCCESS)
        result = pm.cupti->DeviceGetChipName(&name);
    if (result == CUPTI_SUCCESS)
        result = pm.cupti->PmSamplingGetCounterAvailability(&counters);
    if (result != CUPTI_SUCCESS)
        return result;
    *chip = (struct pm_chip){device, name.name, calloc(1, counters.image_size)};
    counters.image = chip->availability;
    return pm.cupti->PmSamplingGetCounterAvailability(&counters);
}

/* By time, or, where the device cannot do that (GA100), by clocks of about one nanosecond. */
static uint32_t configure(struct device *device)
{
    struct cupti_sampler_config config = {.size = sizeof config,
                                          .object = device->sampler,
                                          .image_size = device->metrics.image_size,
                                          .image = device->metrics.image,
                                          .buffer_size = pm.buffer_size,
                                          .interval = pm.interval_us * 1000,
                                          .trigger = CUPTI_TRIGGER_TIME,
                                          .append_mode = CUPTI_KEEP_LATEST};
    device->usual_ns = config.interval;
    uint32_t result = pm.cupti->PmSamplingSetConfig(&config);
    if (result == CUPTI_SUCCESS)
        return result;
    config.trigger = CUPTI_TRIGGER_CLOCK;
    device->usual_ns = 0;
    return pm.cupti->PmSamplingSetConfig(&config) == CUPTI_SUCCESS ? CUPTI_SUCCESS : result;
}

static uint32_t make_data(struct device *device)
{
    struct cupti_data_size size = {.size = sizeof size,
                                   .object = device->sampler,
                                   .names = device->metrics.names,
                                   .count = device->metrics.count,
                                   .most_samples = MOST_SAMPLES};
    uint32_t result = pm.cupti->PmSamplingGetCounterDataSize(&size);
    if (result != CUPTI_SUCCESS)
        return result;
    device->data_size = size.data_size;
    device->data = malloc(size.data_size);
    return device->data ? clear_data(device) : CUPTI_ERROR_MAX_LIMIT_REACHED;
}

static uint32_t begin_sampling(struct device *device)
{
    struct cupti_sampler sampler = {.size = sizeof sampler, .device = device->id};
    uint32_t result = pm.cupti->PmSamplingEnable(&sampler);
    if (result != CUPTI_SUCCESS)
        return result;
    device->sampler = sampler.object;
    result = configure(device);
    if (result == CUPTI_SUCCESS)
        result = make_data(device);
    return result == CUPTI_SUCCESS ? control(pm.cupti->PmSamplingStart, device) : result;
}

static bool begin(struct device *device, char problem[static 256])
{
    struct pm_chip chip = {0};
    const char *missing = missing_function();
    if (missing) {
        snprintf(problem, 256, "libcupti lacks %s; CUDA 12.6 and later have it", missing);
        return false;
    }
    uint32_t result = read_chip(device->id, &chip);
    if (result == CUPTI_SUCCESS &&
        !pm_metrics_choose(pm.cupti, &chip, device->names, &device->metrics, problem)) {
        free(chip.availability);
        return false;
    }
    if (result == CUPTI_SUCCESS)
        result = begin_sampling(device);
    free(chip.availability);
    if (result != CUPTI_SUCCESS)
        snprintf(problem, 256, "%s", pm_result(pm.cupti, result));
    return result == CUPTI_SUCCESS;
}

/* Exit handlers destroy what CUPTI has loaded for this: ours must run before them. */
static void stop_before_exit(void)
{
    atexit(pm_sampling_stop);
}

static void begin_device(struct device *device)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char problem[256];
    device->was_begun = true;
    device->is_on = begin(device, problem);
    undisturbed_once(&once, stop_before_exit);
    if (device->is_on)
        return;
    say("hardware counters of GPU %u are not sampled: %s", device->id, problem);
    end_device(device);
}

/* ---- The thread ---------------------------------------------------------------------------- */

static uint32_t device_count(void)
{
    lock_take(&pm.ticker.lock);
    uint32_t count = pm.count;
    lock_release(&pm.ticker.lock);
    return count;
}

static int64_t turn_ns(void)
{
    int64_t turn = (int64_t)pm.interval_us * 1000 * SAMPLES_PER_TURN;
    return turn < LEAST_TURN_NS ? LEAST_TURN_NS : turn > MOST_TURN_NS ? MOST_TURN_NS : turn;
}

static void *work(void *unused)
{
    (void)unused;
    int64_t next_ns = clock_monotonic_ns();
    while (ticker_wait(&pm.ticker, next_ns)) {
        uint32_t count = device_count();
        for (uint32_t i = 0; i < count; i++) {
            if (!pm.devices[i]->was_begun)
                begin_device(pm.devices[i]);
            read_device(pm.devices[i]);
        }
        next_ns += turn_ns();
        int64_t now_ns = clock_monotonic_ns();
        next_ns = next_ns > now_ns ? next_ns : now_ns;
    }
    for (uint32_t i = 0; i < pm.count; i++) {
        finish_device(pm.devices[i]);
        free(pm.devices[i]);
    }
    return NULL;
}

void pm_sampling_start(const struct cupti *cupti, const struct gpu_options *options)
{
    lock_take(&pm.ticker.lock);
    ticker_prepare(&pm.ticker);
    pm.cupti = cupti;
    pm.count = 0;
    snprintf(pm.names, sizeof pm.names, "%s", options->metrics ? options->metrics : "");
    pm.interval_us =
        options->metric_interval_us ? options->metric_interval_us : GPU_METRIC_INTERVAL_US;
    pm.buffer_size = (options->metric_buffer_mb ? options->metric_buffer_mb : GPU_METRIC_BUFFER_MB)
                     << 20;
    lock_release(&pm.ticker.lock);
}

static bool is_known(uint32_t id)
{
    for (uint32_t i = 0; i < pm.count; i++)
        if (pm.devices[i]->id == id)
            return true;
    return false;
}

void pm_sampling_add(uint32_t id)
{
    lock_take(&pm.ticker.lock);
    if (*pm.names && !pm.ticker.is_stopping && pm.count < MOST_DEVICES && !is_known(id)) {
        struct device *device = calloc(1, sizeof *device);
        bool is_there = pm.ticker.is_there || ticker_start(&pm.ticker, work, "kymo-gpu-pm");
        if (device && is_there) {
            device->id = id;
            memcpy(device->names, pm.names, sizeof device->names);
            pm.devices[pm.count++] = device;
        } else {
            say("hardware counters of GPU %u are not sampled: out of memory or threads", id);
            free(device);
        }
    }
    lock_release(&pm.ticker.lock);
}

void pm_sampling_stop(void)
{
    ticker_stop(&pm.ticker);
}

void pm_sampling_lock(void)
{
    lock_take(&pm.ticker.lock);
}

void pm_sampling_unlock(void)
{
    lock_release(&pm.ticker.lock);
}

/* The thread's objects are left as they are. */
void pm_sampling_forked(void)
{
    ticker_forked(&pm.ticker);
    pm.count = 0;
    lock_release(&pm.ticker.lock);
}
