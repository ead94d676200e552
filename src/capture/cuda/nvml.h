/*
 * The part of NVML, NVIDIA's management library, that is used, declared here so that its headers
 * are not needed: it comes with the driver and is found at run time. Its functions may take
 * milliseconds; measuring the throughput of PCIe takes 20.
 */
#ifndef KYMO_CAPTURE_CUDA_NVML_H
#define KYMO_CAPTURE_CUDA_NVML_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NVML_SUCCESS = 0, NVML_ERROR_NOT_SUPPORTED = 3, NVML_ERROR_FUNCTION_NOT_FOUND = 13 };

struct nvml_memory {
    uint64_t total, free, used; /* bytes */
};

struct nvml_utilization {
    uint32_t gpu, memory; /* percent of the time */
};

struct nvml_field {
    uint32_t id, scope;
    int64_t timestamp, latency;
    uint32_t type, result;
    uint64_t value;
};
static_assert(offsetof(struct nvml_field, result) == 28 && sizeof(struct nvml_field) == 40,
              "field");

/* The functions in use; without the optional ones their counters are missing. */
#define NVML_FUNCTIONS(FUNCTION, OPTIONAL)                                                         \
    FUNCTION(Init_v2, (void))                                                                      \
    FUNCTION(Shutdown, (void))                                                                     \
    FUNCTION(DeviceGetHandleByUUID, (const char *uuid, void **device))                             \
    OPTIONAL(DeviceGetPowerUsage, (void *device, uint32_t *milliwatts))                            \
    OPTIONAL(DeviceGetClockInfo, (void *device, uint32_t clock, uint32_t *mhz))                    \
    OPTIONAL(DeviceGetTemperature, (void *device, uint32_t sensor, uint32_t *celsius))             \
    OPTIONAL(DeviceGetMemoryInfo, (void *device, struct nvml_memory *memory))                      \
    OPTIONAL(DeviceGetUtilizationRates, (void *device, struct nvml_utilization *utilization))      \
    OPTIONAL(DeviceGetPcieThroughput, (void *device, uint32_t counter, uint32_t *kb_per_s))        \
    OPTIONAL(DeviceGetFieldValues, (void *device, int32_t count, struct nvml_field *fields))

struct nvml {
    void *library;
#define MEMBER(name, parameters) uint32_t(*name) parameters;
    NVML_FUNCTIONS(MEMBER, MEMBER)
#undef MEMBER
};

/* Those of PCIe last: they are slow. */
enum nvml_counter {
    NVML_POWER,
    NVML_SM_CLOCK,
    NVML_MEMORY_CLOCK,
    NVML_TEMPERATURE,
    NVML_MEMORY_USED,
    NVML_GPU_UTILIZATION,
    NVML_MEMORY_UTILIZATION,
    NVML_NVLINK_TX,
    NVML_NVLINK_RX,
    NVML_PCIE_TX,
    NVML_PCIE_RX,
    NVML_COUNTERS
};

/* Names in gpu_trace.pb. */
extern const char *const nvml_counter_ids[NVML_COUNTERS];

/* Counts up from the driver's start, in KiB; the others are values as they are. */
static inline bool nvml_is_total(enum nvml_counter counter)
{
    return counter == NVML_NVLINK_TX || counter == NVML_NVLINK_RX;
}

/* Finds and initializes the library; false when that fails: `problem` says why. */
bool nvml_load(struct nvml *nvml, char problem[static 256]);
void nvml_unload(struct nvml *nvml);

/* The device with the id that CUDA also knows, whatever number it has here; NULL for none. */
void *nvml_device(const struct nvml *nvml, const uint8_t uuid[static 16]);

/* Reads a counter: a result of NVML. */
uint32_t nvml_read(const struct nvml *nvml, void *device, enum nvml_counter counter,
                   uint64_t *value);

#endif
