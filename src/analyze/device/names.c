/*
 * Names of what profiles number.
 */
#include "analyze/device/device.h"

#include <inttypes.h>
#include <stdio.h>

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

/* Numbers come from the file, hence the checks. */
char *device_error_text(const struct core_program *program, const struct device_error *error,
                        char text[static DEVICE_ERROR_SIZE])
{
    const char *variable =
        error->detail < program->variable_count ? program->variables[error->detail].name : "?";
    const char *engine =
        error->unit < ENGINE_COUNT ? hardware_engine_name((enum engine)error->unit) : "?";
    switch ((enum error_kind)error->kind) {
    case ERROR_EMBD_OOB:
    case ERROR_DMAI_OOB:
        snprintf(text, DEVICE_ERROR_SIZE,
                 "DMA descriptor %" PRIu32 ": %s is out of the bounds of variable %s", error->at,
                 error->kind == ERROR_EMBD_OOB ? "an index" : "an offset register", variable);
        return text;
    case ERROR_NAN:
    case ERROR_INFINITY:
        snprintf(text, DEVICE_ERROR_SIZE, "%s is written to output %s",
                 error->kind == ERROR_NAN ? "NaN" : "infinity", variable);
        return text;
    case ERROR_TIMEOUT:
        snprintf(text, DEVICE_ERROR_SIZE, "%s instruction %" PRIu32 " does not end", engine,
                 error->at);
        return text;
    case ERROR_COLLECTIVE:
        snprintf(text, DEVICE_ERROR_SIZE,
                 "collective %" PRIu32 " at %s instruction %" PRIu32 ": ranks of it are missing",
                 error->detail, engine, error->at);
        return text;
    }
    snprintf(text, DEVICE_ERROR_SIZE, "unit %u, at %" PRIu32 ", detail %" PRIu32, error->unit,
             error->at, error->detail);
    return text;
}

const char *device_throttle_name(enum throttle_kind kind)
{
    static const char *const names[] = {"activity_0", "activity_1"};
    return NAME_OF(names, kind);
}
