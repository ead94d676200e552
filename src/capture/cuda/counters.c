/*
 * The thread begins with the first device, which CUPTI reports; no other thread uses NVML.
 */
#include "capture/cuda/counters.h"

#include "base/clock.h"
#include "capture/cuda/nvml.h"
#include "capture/cuda/say.h"
#include "capture/cuda/ticker.h"
#include "capture/cuda/trace_file.h"

#include <string.h>

enum { MOST_DEVICES = 64, NS_PER_S = 1000000000, NS_PER_MS = 1000000, BYTES_PER_UNIT = 1024 };

struct device {
    uint32_t id;
    uint8_t uuid[16];
    /* Of the thread: */
    void *handle;
    bool was_sought;
    uint32_t missing; /* a bit for each counter */
    struct {
        uint64_t value;
        int64_t time_ns; /* 0: none yet */
    } last[NVML_COUNTERS];
};

static struct {
    struct ticker ticker;
    int64_t interval_ns;
    uint32_t count; /* of devices; only the thread changes those below it */
    struct device devices[MOST_DEVICES];
} counters = {.ticker = TICKER_INITIALIZER};

/* ---- Samples ------------------------------------------------------------------------------- */

static void put_sample(const struct device *device, enum nvml_counter counter, int64_t time_ns,
                       uint64_t value)
{
    trace_file_lock();
    trace_row(TRACE_COUNTERS, (const uint64_t[]){(uint64_t)time_ns, device->id,
                                                 trace_text(nvml_counter_ids[counter]), value});
    trace_file_unlock();
}

/* The growth of a total since it was last read, per second; none the first time, and after it was
 * reset. */
static void put_rate(struct device *device, enum nvml_counter counter, int64_t time_ns,
                     uint64_t total)
{
    uint64_t value = device->last[counter].value;
    int64_t since_ns = device->last[counter].time_ns;
    device->last[counter].value = total;
    device->last[counter].time_ns = time_ns;
    if (since_ns > 0 && time_ns > since_ns && total >= value) {
        double bytes = (double)(total - value) * BYTES_PER_UNIT;
        double rate = bytes * NS_PER_S / (double)(time_ns - since_ns);
        put_sample(device, counter, time_ns, rate < 1e18 ? (uint64_t)rate : 0);
    }
}

static void sample_counter(const struct nvml *nvml, struct device *device,
                           enum nvml_counter counter)
{
    uint64_t value = 0;
    uint32_t result = nvml_read(nvml, device->handle, counter, &value);
    int64_t time_ns = clock_monotonic_ns();
    if (result == NVML_ERROR_NOT_SUPPORTED || result == NVML_ERROR_FUNCTION_NOT_FOUND)
        device->missing |= 1u << counter;
    if (result != NVML_SUCCESS)
        return;
    if (nvml_is_total(counter))
        put_rate(device, counter, time_ns, value);
    else
        put_sample(device, counter, time_ns, value);
}

static void sample_device(const struct nvml *nvml, struct device *device)
{
    if (!device->was_sought)
        device->handle = nvml_device(nvml, device->uuid);
    device->was_sought = true;
    for (enum nvml_counter c = 0;
         device->handle && c < NVML_COUNTERS && !ticker_is_stopping(&counters.ticker); c++)
        if (!(device->missing >> c & 1))
            sample_counter(nvml, device, c);
}

/* ---- The thread ---------------------------------------------------------------------------- */

static uint32_t device_count(void)
{
    lock_take(&counters.ticker.lock);
    uint32_t count = counters.count;
    lock_release(&counters.ticker.lock);
    return count;
}

/* Samples missed because NVML is slow are left out. */
static void *work(void *unused)
{
    (void)unused;
    struct nvml nvml = {0};
    char problem[256];
    if (!nvml_load(&nvml, problem)) {
        say("power, clocks and other counters of GPUs are not recorded: %s", problem);
        return NULL;
    }
    int64_t next_ns = clock_monotonic_ns();
    while (ticker_wait(&counters.ticker, next_ns)) {
        uint32_t count = device_count();
        for (uint32_t i = 0; i < count; i++)
            sample_device(&nvml, &counters.devices[i]);
        next_ns += counters.interval_ns;
        int64_t now = clock_monotonic_ns();
        next_ns = next_ns > now ? next_ns : now;
    }
    nvml_unload(&nvml);
    return NULL;
}

void counters_start(const struct gpu_options *options)
{
    lock_take(&counters.ticker.lock);
    ticker_prepare(&counters.ticker);
    counters.count = 0;
    counters.interval_ns = (int64_t)options->counter_interval_ms * NS_PER_MS;
    lock_release(&counters.ticker.lock);
}

static bool is_known(uint32_t id)
{
    for (uint32_t i = 0; i < counters.count; i++)
        if (counters.devices[i].id == id)
            return true;
    return false;
}

void counters_add(const struct cupti_device *device)
{
    lock_take(&counters.ticker.lock);
    if (counters.interval_ns > 0 && !counters.ticker.is_stopping && counters.count < MOST_DEVICES &&
        !is_known(device->id)) {
        struct device *added = &counters.devices[counters.count++];
        *added = (struct device){.id = device->id};
        memcpy(added->uuid, device->uuid, sizeof added->uuid);
        if (counters.count == 1 && !ticker_start(&counters.ticker, work, "kymo-gpu-stat"))
            say("power, clocks and other counters of GPUs are not recorded: cannot create a "
                "thread");
    }
    lock_release(&counters.ticker.lock);
}

void counters_stop(void)
{
    ticker_stop(&counters.ticker);
}

void counters_lock(void)
{
    lock_take(&counters.ticker.lock);
}

void counters_unlock(void)
{
    lock_release(&counters.ticker.lock);
}

void counters_forked(void)
{
    ticker_forked(&counters.ticker);
    lock_release(&counters.ticker.lock);
}
