/*
 * Options from environment variables. An invalid value gives one line on standard error, and the
 * default is used.
 */
#include "capture/recorder/environment.h"

#include "capture/recorder/capture.h"
#include "kymo/kymo.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The first time they are read; later the user has been told already. */
static atomic_bool said;

static void warn(const struct error *err)
{
    if (!atomic_load(&said))
        capture_warn(err);
}

static bool whole_number(const char *variable, uint32_t *number)
{
    const char *value = secure_getenv(variable);
    char *end;
    if (!value || *value < '0' || *value > '9')
        return false;
    errno = 0;
    unsigned long long found = strtoull(value, &end, 10);
    *number = (uint32_t)found;
    return *end == '\0' && errno == 0 && found < UINT32_MAX / 2;
}

void environment_rank(uint32_t *rank, uint32_t *world_size)
{
    static const struct {
        const char *rank, *size;
    } launchers[] = {
        {"RANK", "WORLD_SIZE"}, /* torchrun */
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"},
        {"JAX_PROCESS_ID", "JAX_NUM_PROCESSES"},
        {"SLURM_PROCID", "SLURM_NTASKS"}, /* last: a task may start ranks of its own */
    };
    *rank = *world_size = 0;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        uint32_t number, size;
        if (!whole_number(launchers[i].rank, &number))
            continue;
        *rank = number + 1;
        if (whole_number(launchers[i].size, &size) && size > number)
            *world_size = size;
        return;
    }
}

const char *environment_name(const char *variable, const char *text, const char *otherwise)
{
    return secure_getenv(variable) == text ? variable : otherwise;
}

static bool is_on(const char *variable, bool usual)
{
    const char *value = secure_getenv(variable);
    return value && *value ? strcmp(value, "0") != 0 : usual;
}

/* An integer within bounds, or the default. */
static uint64_t number_in(const char *variable, uint64_t most, uint64_t usual)
{
    const char *value = secure_getenv(variable);
    if (!value || !*value)
        return usual;
    char *end;
    errno = 0;
    uint64_t number = strtoull(value, &end, 10);
    if (*end == '\0' && errno == 0 && value[0] != '-' && number <= most)
        return number;
    struct error err;
    error_set(&err, "%s=%s is not a number from 0 to %llu; %llu is used", variable, value,
              (unsigned long long)most, (unsigned long long)usual);
    warn(&err);
    return usual;
}

/* Warns when a variable has a value that is not allowed; the list ends with NULL. */
static void check_word(const char *variable, const char *const *words, const char *allowed)
{
    const char *value = secure_getenv(variable);
    if (!value || !*value)
        return;
    for (; *words; words++)
        if (strcmp(value, *words) == 0)
            return;
    struct error err;
    error_set(&err, "%s=%s is not one of %s; 0 is used", variable, value, allowed);
    warn(&err);
}

enum kymo_devices kymo_devices_in_environment(enum kymo_devices usual)
{
    const char *mode = secure_getenv("NEURON_RT_INSPECT_DEVICE_PROFILE");
    if (!mode || !*mode)
        return usual;
    if (strcmp(mode, "session") == 0)
        return KYMO_DEVICES_SESSION;
    return strcmp(mode, "1") == 0 || strcmp(mode, "model") == 0 ? KYMO_DEVICES_MODEL
                                                                : KYMO_DEVICES_NONE;
}

static void check_device_variables(void)
{
    static const char *const modes[] = {"0", "1", "model", "session", NULL};
    static const char *const switches[] = {"0", "1", NULL};
    check_word("NEURON_RT_INSPECT_DEVICE_PROFILE", modes, "0, 1, model or session");
    check_word("NEURON_RT_INSPECT_ON_FAIL", switches, "0 or 1");
}

static void read_variables(struct kymo_options *options)
{
    options->output_dir = secure_getenv("NEURON_RT_INSPECT_OUTPUT_DIR");
    options->level = is_on("NEURON_RT_INSPECT_SYSTEM_PROFILE", true)
                         ? (int)number_in("KYMO_LEVEL", 3, (uint64_t)options->level)
                         : 0;
    options->max_events = number_in("NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC",
                                    ENVIRONMENT_MOST_EVENTS, options->max_events);
    options->max_events = options->max_events ? options->max_events : 1;
    bool is_system = options->level > 0; /* the samples belong to the system profile */
    if (!is_on("NEURON_RT_INSPECT_CPU_UTIL", is_system))
        options->cpu_util_ms = 0;
    if (!is_on("NEURON_RT_INSPECT_HOST_MEMORY", is_system))
        options->host_memory_ms = 0;
    options->devices = kymo_devices_in_environment(KYMO_DEVICES_NONE);
    options->event_cores = secure_getenv(ENVIRONMENT_CORES);
    options->event_types = secure_getenv(ENVIRONMENT_TYPES);
    check_device_variables();
}

int kymo_options_from_environment(struct kymo_options *options)
{
    struct kymo_options found = KYMO_OPTIONS;
    bool asked = is_on("NEURON_RT_INSPECT_ENABLE", false);
    if (asked) {
        read_variables(&found);
        atomic_store(&said, true);
    }
    size_t size = options->size;
    if (size >= sizeof size) {
        memcpy(options, &found, size < sizeof found ? size : sizeof found);
        options->size = size;
    }
    return asked;
}
