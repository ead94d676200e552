/*
 * A stand-in for NVIDIA's libnvidia-ml: devices have ids that end with their number, from 1 to 15;
 * their values are made up, and never the same twice. Environment variables:
 *
 *   MOCK_NVML_LOG      a file to which calls are appended, and for those that succeed a line
 *                      "value CALL VALUES"
 *   MOCK_NVML_ERRORS   results of functions, as "nvmlInit_v2=9 nvmlDeviceGetPowerUsage(2)=3"
 *
 * With MOCK_FEW_FUNCTIONS it has one counter, power.
 */
#include "mock_calls.h"

#define API __attribute__((visibility("default")))
enum { DONE = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6 };

#define called(...) mock_called("MOCK_NVML_LOG", "MOCK_NVML_ERRORS", __VA_ARGS__)

/* A number that no call had before; calls come from one thread. */
static uint32_t next_value(void)
{
    static uint32_t count;
    return ++count * 2654435761u;
}

/* The result of a function whose values these are. */
static uint32_t tell(const char *call, uint64_t first, uint64_t second)
{
    char line[200];
    uint32_t result = called("%s", call);
    snprintf(line, sizeof line, "value %s %llu %llu", call, (unsigned long long)first,
             (unsigned long long)second);
    if (result == DONE)
        mock_log("MOCK_NVML_LOG", line);
    return result;
}

static uint32_t tell_number(const char *function, void *device, int argument, uint32_t *value)
{
    char call[100];
    *value = next_value();
    snprintf(call, sizeof call, "%s(%d,%d)", function, (int)(uintptr_t)device, argument);
    return tell(call, *value, 0);
}

API uint32_t nvmlInit_v2(void)
{
    return called("nvmlInit_v2");
}

API uint32_t nvmlShutdown(void)
{
    return called("nvmlShutdown");
}

API uint32_t nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    const char start[] = "GPU-00112233-4455-6677-8899-aabbccddee0";
    uint32_t result = called("nvmlDeviceGetHandleByUUID(%s)", uuid);
    if (result != DONE)
        return result;
    if (strncmp(uuid, start, sizeof start - 1) != 0 || strlen(uuid) != sizeof start)
        return NOT_FOUND;
    *device = (void *)(uintptr_t)strtoul(uuid + sizeof start - 1, NULL, 16);
    return DONE;
}

API uint32_t nvmlDeviceGetPowerUsage(void *device, uint32_t *value)
{
    return tell_number("nvmlDeviceGetPowerUsage", device, 0, value);
}

#ifndef MOCK_FEW_FUNCTIONS
API uint32_t nvmlDeviceGetClockInfo(void *device, uint32_t clock, uint32_t *value)
{
    return tell_number("nvmlDeviceGetClockInfo", device, (int)clock, value);
}

API uint32_t nvmlDeviceGetTemperature(void *device, uint32_t sensor, uint32_t *value)
{
    return tell_number("nvmlDeviceGetTemperature", device, (int)sensor, value);
}

API uint32_t nvmlDeviceGetPcieThroughput(void *device, uint32_t counter, uint32_t *value)
{
    return tell_number("nvmlDeviceGetPcieThroughput", device, (int)counter, value);
}

API uint32_t nvmlDeviceGetMemoryInfo(void *device, uint64_t values[3])
{
    char call[100];
    values[2] = (uint64_t)next_value() << 8;
    values[1] = 1;
    values[0] = values[2] + 1;
    snprintf(call, sizeof call, "nvmlDeviceGetMemoryInfo(%d)", (int)(uintptr_t)device);
    return tell(call, values[2], 0);
}

API uint32_t nvmlDeviceGetUtilizationRates(void *device, uint32_t values[2])
{
    char call[100];
    values[0] = next_value() % 101;
    values[1] = next_value() % 101;
    snprintf(call, sizeof call, "nvmlDeviceGetUtilizationRates(%d)", (int)(uintptr_t)device);
    return tell(call, values[0], values[1]);
}

struct field {
    uint32_t id, scope;
    int64_t timestamp, latency;
    uint32_t type, result;
    uint64_t value;
};

API uint32_t nvmlDeviceGetFieldValues(void *device, int count, struct field *fields)
{
    static uint64_t total = 1ull << 40;
    char call[100];
    if (count != 1 || fields->scope != UINT32_MAX)
        return NOT_SUPPORTED;
    fields->value = total += next_value() % 1000000;
    snprintf(call, sizeof call, "nvmlDeviceGetFieldValues(%d,%u)", (int)(uintptr_t)device,
             fields->id);
    fields->result = tell(call, fields->value, 0);
    return DONE;
}
#endif
