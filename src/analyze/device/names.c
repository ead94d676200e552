/*
 * Names of what profiles number.
 */
#include "analyze/device/device.h"

#define NAME_OF(names, number)                                                                     \
    ((size_t)(number) < sizeof(names) / sizeof *(names) ? (names)[number] : "unknown")

const char *device_collective_name(enum collective_kind kind)
{
    static const char *const names[] = {"AllGather", "AllReduce", "ReduceScatter", "AllToAll",
                                        "Permute",   "Broadcast", "Barrier",       "AllToAllV"};
    return NAME_OF(names, kind);
}

const char *device_queue_type_name(enum dma_queue_type type)
{
    static const char *const names[] = {
        "instruction",      "input",  "output", "data", "software_dynamic",
        "hardware_dynamic", "unknown"};
    return NAME_OF(names, type);
}

const char *device_step_name(enum collective_step step)
{
    static const char *const names[] = {"TPB_TRIGGER", "SEMAPHORE_WAIT", "DMA_ADVANCE"};
    return NAME_OF(names, step);
}

const char *device_error_name(enum error_kind kind)
{
    static const char *const names[] = {"EMBD OOB", "DMAI OOB", "NaN",
                                        "Infinity", "Timeout",  "Collective"};
    return NAME_OF(names, kind);
}

const char *device_throttle_name(enum throttle_kind kind)
{
    static const char *const names[] = {"activity_0", "activity_1"};
    return NAME_OF(names, kind);
}
