/*
 * The table of NVML's functions, and a counter for each value they return.
 */
#include "capture/cuda/nvml.h"

#include <dlfcn.h>
#include <stdio.h>

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0, PCIE_TX = 0, PCIE_RX = 1 };
enum { FIELD_NVLINK_TX = 138, FIELD_NVLINK_RX = 139 }; /* payload */
#define ALL_LINKS UINT32_MAX

const char *const nvml_counter_ids[NVML_COUNTERS] = {
    [NVML_POWER] = "power_mw",
    [NVML_SM_CLOCK] = "sm_clock_mhz",
    [NVML_MEMORY_CLOCK] = "memory_clock_mhz",
    [NVML_TEMPERATURE] = "temperature_c",
    [NVML_MEMORY_USED] = "memory_used_bytes",
    [NVML_GPU_UTILIZATION] = "gpu_utilization_percent",
    [NVML_MEMORY_UTILIZATION] = "memory_utilization_percent",
    [NVML_NVLINK_TX] = "nvlink_tx_bytes_per_s",
    [NVML_NVLINK_RX] = "nvlink_rx_bytes_per_s",
    [NVML_PCIE_TX] = "pcie_tx_kb_per_s",
    [NVML_PCIE_RX] = "pcie_rx_kb_per_s",
};

/* A missing optional function costs its counter alone. After a failure nothing stays loaded. */
bool nvml_load(struct nvml *nvml, char problem[static 256])
{
    const char *missing = NULL;
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library) {
        const char *why = dlerror();
        snprintf(problem, 256, "%s", why ? why : "libnvidia-ml.so.1 not found");
        return false;
    }
#define OPTIONAL(name, parameters)                                                                 \
    nvml->name = (__typeof__(nvml->name))dlsym(nvml->library, "nvml" #name);
#define FUNCTION(name, parameters)                                                                 \
    OPTIONAL(name, parameters)                                                                     \
    missing = nvml->name ? missing : "nvml" #name;
    NVML_FUNCTIONS(FUNCTION, OPTIONAL)
#undef FUNCTION
#undef OPTIONAL
    uint32_t result = missing ? NVML_SUCCESS : nvml->Init_v2();
    if (missing)
        snprintf(problem, 256, "libnvidia-ml lacks %s", missing);
    else if (result != NVML_SUCCESS)
        snprintf(problem, 256, "NVML cannot be initialized: error %u", result);
    if (!missing && result == NVML_SUCCESS)
        return true;
    dlclose(nvml->library);
    return false;
}

void nvml_unload(struct nvml *nvml)
{
    nvml->Shutdown();
    dlclose(nvml->library);
}

/* "GPU-8-4-4-4-12", in hexadecimal digits */
void *nvml_device(const struct nvml *nvml, const uint8_t uuid[static 16])
{
    char text[48] = "GPU";
    size_t size = 3;
    void *device = NULL;
    for (size_t i = 0; i < 16; i++) {
        bool starts_group = i == 0 || (i >= 4 && i <= 10 && i % 2 == 0);
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%02x", starts_group ? "-" : "",
                                 uuid[i]);
    }
    return nvml->DeviceGetHandleByUUID(text, &device) == NVML_SUCCESS ? device : NULL;
}

/* Those whose functions give one number of 32 bits. */
static uint32_t read_number(const struct nvml *nvml, void *device, enum nvml_counter counter,
                            uint32_t *value)
{
    uint32_t missing = NVML_ERROR_FUNCTION_NOT_FOUND;
    switch (counter) {
    case NVML_POWER:
        return nvml->DeviceGetPowerUsage ? nvml->DeviceGetPowerUsage(device, value) : missing;
    case NVML_SM_CLOCK:
    case NVML_MEMORY_CLOCK:
        return nvml->DeviceGetClockInfo
                   ? nvml->DeviceGetClockInfo(
                         device, counter == NVML_SM_CLOCK ? CLOCK_SM : CLOCK_MEMORY, value)
                   : missing;
    case NVML_TEMPERATURE:
        return nvml->DeviceGetTemperature ? nvml->DeviceGetTemperature(device, SENSOR_GPU, value)
                                          : missing;
    default:
        return nvml->DeviceGetPcieThroughput
                   ? nvml->DeviceGetPcieThroughput(
                         device, counter == NVML_PCIE_TX ? PCIE_TX : PCIE_RX, value)
                   : missing;
    }
}

static uint32_t read_field(const struct nvml *nvml, void *device, uint32_t id, uint64_t *value)
{
    struct nvml_field field = {.id = id, .scope = ALL_LINKS};
    if (!nvml->DeviceGetFieldValues)
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    uint32_t result = nvml->DeviceGetFieldValues(device, 1, &field);
    *value = field.value;
    return result == NVML_SUCCESS ? field.result : result;
}

static uint32_t read_utilization(const struct nvml *nvml, void *device, bool is_memory,
                                 uint64_t *value)
{
    struct nvml_utilization utilization = {0};
    if (!nvml->DeviceGetUtilizationRates)
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    uint32_t result = nvml->DeviceGetUtilizationRates(device, &utilization);
    *value = is_memory ? utilization.memory : utilization.gpu;
    return result;
}

static uint32_t read_memory(const struct nvml *nvml, void *device, uint64_t *value)
{
    struct nvml_memory memory = {0};
    if (!nvml->DeviceGetMemoryInfo)
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    uint32_t result = nvml->DeviceGetMemoryInfo(device, &memory);
    *value = memory.used;
    return result;
}

uint32_t nvml_read(const struct nvml *nvml, void *device, enum nvml_counter counter,
                   uint64_t *value)
{
    uint32_t number = 0, result;
    switch (counter) {
    case NVML_MEMORY_USED:
        return read_memory(nvml, device, value);
    case NVML_GPU_UTILIZATION:
    case NVML_MEMORY_UTILIZATION:
        return read_utilization(nvml, device, counter == NVML_MEMORY_UTILIZATION, value);
    case NVML_NVLINK_TX:
        return read_field(nvml, device, FIELD_NVLINK_TX, value);
    case NVML_NVLINK_RX:
        return read_field(nvml, device, FIELD_NVLINK_RX, value);
    default:
        result = read_number(nvml, device, counter, &number);
        *value = number;
        return result;
    }
}
