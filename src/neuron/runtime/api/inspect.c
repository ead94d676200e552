/*
 * nrt_profile.h: inspect sessions. A session is a libkymo capture, so that the program's
 * annotations and the runtime's events are in one profile.
 */
#include "capture/recorder/lock.h"
#include "neuron/runtime/api/device.h"
#include "neuron/runtime/api/lists.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum activity { SYSTEM_PROFILE, DEVICE_PROFILE, HOST_MEMORY, CPU_UTIL, ACTIVITIES };
static const char *const activity_names[ACTIVITIES] = {"system_profile", "device_profile",
                                                       "host_memory", "cpu_util"};

struct nrt_inspect_config {
    int session_id;
    char *output_dir; /* NULL: the default */
    struct rings_config filter;
    bool filters_cores, filters_types; /* something was disabled */
    bool activities[ACTIVITIES];
    bool requests_devices; /* explicitly, not only by default */
    bool enable, on_fail;
};

/* BEGUN: started with nothing enabled, so without a capture. */
static enum { IDLE, BEGUN, CAPTURING } state;
/* Of the session that a call began; without one, the variables count. */
static atomic_bool is_by_call, has_ended;
static atomic_bool on_fail;
static atomic_int session_number = 1;
struct lock inspect_lock = LOCK_INITIALIZER;

static void set_defaults(struct nrt_inspect_config *config)
{
    *config = (struct nrt_inspect_config){.session_id = 1};
    config_everything(&config->filter);
    memset(config->activities, true, sizeof config->activities);
}

NRT_STATUS nrt_inspect_config_allocate(nrt_inspect_config_t **options)
{
    if (!options)
        return NRT_INVALID;
    *options = malloc(sizeof **options);
    if (!*options)
        return NRT_RESOURCE;
    set_defaults(*options);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_defaults(nrt_inspect_config_t *options)
{
    if (!options)
        return NRT_INVALID;
    free(options->output_dir);
    set_defaults(options);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_free(nrt_inspect_config_t *options)
{
    if (!options)
        return NRT_INVALID;
    free(options->output_dir);
    free(options);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_session_id(nrt_inspect_config_t *options, int session_id)
{
    if (!options || session_id < 0)
        return NRT_INVALID;
    options->session_id = session_id;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_output_dir(nrt_inspect_config_t *options, const char *output_dir)
{
    return options ? config_set_path(&options->output_dir, output_dir) : NRT_INVALID;
}

NRT_STATUS nrt_inspect_config_set_sys_trace_max_events_per_nc(nrt_inspect_config_t *options,
                                                              uint64_t sys_trace_max_events_per_nc)
{
    if (!options || sys_trace_max_events_per_nc == 0)
        return NRT_INVALID;
    options->filter.max_events = sys_trace_max_events_per_nc;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_capture_enabled_for_nc(nrt_inspect_config_t *options,
                                                         uint32_t nc_idx, bool enabled)
{
    if (!options || nc_idx >= RINGS_CORES)
        return NRT_INVALID;
    event_set_bit(options->filter.cores, nc_idx, enabled);
    options->filters_cores = true;
    return NRT_SUCCESS;
}

NRT_STATUS
nrt_inspect_config_set_capture_enabled_for_event_type_string(nrt_inspect_config_t *options,
                                                             const char *event_type, bool enabled)
{
    if (!options || !event_type)
        return NRT_INVALID;
    options->filters_types = true;
    return type_enable(options->filter.types, event_type, enabled);
}

NRT_STATUS nrt_inspect_config_set_enable_inspect(nrt_inspect_config_t *options, bool enable_inspect)
{
    if (!options)
        return NRT_INVALID;
    options->enable = enable_inspect;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_enable_inspect_on_fail(nrt_inspect_config_t *options,
                                                         bool enable_inspect_on_fail)
{
    if (!options)
        return NRT_INVALID;
    options->on_fail = enable_inspect_on_fail;
    return NRT_SUCCESS;
}

/* ---- Activities ---------------------------------------------------------------------------- */

NRT_STATUS nrt_inspect_config_set_activity(nrt_inspect_config_t *options, const char *activity_type,
                                           bool enabled)
{
    if (!options || !activity_type)
        return NRT_INVALID;
    bool all = strcmp(activity_type, "all") == 0, found = all;
    for (size_t i = 0; i < ACTIVITIES; i++) {
        if (!all && strcmp(activity_type, activity_names[i]) != 0)
            continue;
        options->activities[i] = enabled;
        found = true;
        if (i == DEVICE_PROFILE && !all)
            options->requests_devices = enabled;
    }
    return found ? NRT_SUCCESS : NRT_INVALID;
}

static const char *activity_if_set(const void *activities, size_t n)
{
    return !activities || ((const bool *)activities)[n] ? activity_names[n] : NULL;
}

NRT_STATUS nrt_inspect_config_get_all_activity_types(const char ***activity_types, size_t *count)
{
    if (!activity_types || !count)
        return NRT_INVALID;
    return list_make(activity_types, count, ACTIVITIES, activity_if_set, NULL);
}

NRT_STATUS nrt_inspect_config_get_enabled_activity_types(nrt_inspect_config_t *options,
                                                         const char ***activity_types,
                                                         size_t *count)
{
    if (!options || !activity_types || !count)
        return NRT_INVALID;
    return list_make(activity_types, count, ACTIVITIES, activity_if_set, options->activities);
}

void nrt_inspect_config_free_activity_types(const char **activity_types, size_t count)
{
    list_free(activity_types, count);
}

/* ---- Sessions ------------------------------------------------------------------------------ */

static bool is_set(const char *variable)
{
    const char *value = secure_getenv(variable);
    return value && *value && strcmp(value, "0") != 0;
}

static bool fails_in_environment(void)
{
    const char *value = secure_getenv("NEURON_RT_INSPECT_ON_FAIL");
    return value && strcmp(value, "1") == 0;
}

/* The variable as it was when it was first looked at. */
static bool fails_in_first_environment;

static void read_environment(void)
{
    fails_in_first_environment = fails_in_environment();
}

bool inspect_on_fail(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return is_by_call ? on_fail : fails_in_first_environment && !has_ended;
}

int inspect_session_id(void)
{
    return session_number;
}

/* With the lock held. function is NULL when environment variables request the session: the capture
 * that started with the program is then the one requested. */
static NRT_STATUS begin_capture(const struct kymo_options *options, const char *function)
{
    int result = kymo_start(options);
    if (result == 0 || (result == -EALREADY && !function)) {
        state = CAPTURING;
        return NRT_SUCCESS;
    }
    if (result == -EALREADY)
        say("%s: a capture is already running", function);
    return result == -ENOMEM ? NRT_RESOURCE : result == -EINVAL ? NRT_INVALID : NRT_FAILURE;
}

/* With the lock held. by_name: the program asked for device profiles, not only by default. */
static void begin_devices(bool fails, bool by_name, const char *function)
{
    on_fail = device_profiler && fails;
    is_by_call = true;
    has_ended = false;
    if (by_name && !device_profiler)
        say("%s: no device executes models; the session has no device profiles", function);
}

/* "0,2,5", the format libkymo parses. */
static void write_cores(char *text, size_t size, const uint64_t *cores)
{
    static const char none[] = "none";
    size_t used = 0;
    for (uint32_t core = 0; core < RINGS_CORES; core++)
        if (event_bit(cores, core) && used + 6 < size) {
            if (used > 0)
                text[used++] = ',';
            if (core >= 100)
                text[used++] = (char)('0' + core / 100);
            if (core >= 10)
                text[used++] = (char)('0' + core / 10 % 10);
            text[used++] = (char)('0' + core % 10);
        }
    text[used] = '\0';
    if (used == 0)
        memcpy(text, none, sizeof none);
}

/* Lists the disabled types as "^name"; unknown types still pass. */
static void write_types(char *text, size_t size, const uint64_t *types)
{
    size_t used = 0;
    for (size_t i = 0; i < EVENT_TYPES; i++) {
        const char *name = event_type_name((enum runtime_event)i);
        size_t length = strlen(name);
        if (event_bit(types, i) || used + length + 3 > size)
            continue;
        if (used > 0)
            text[used++] = ',';
        text[used++] = '^';
        memcpy(text + used, name, length);
        used += length;
    }
    text[used] = '\0';
}

/* With the lock held. */
static NRT_STATUS begin_with(const struct nrt_inspect_config *config)
{
    static const char function[] = "nrt_inspect_begin_with_options";
    char cores[RINGS_CORES * 4], types[EVENT_TYPES * 64];
    if (state != IDLE) {
        say("%s: a session has already begun", function);
        return NRT_FAILURE;
    }
    if (!config->enable) {
        say("%s: inspect is not enabled; nothing is captured", function);
        begin_devices(config->on_fail, config->on_fail, function);
        state = BEGUN;
        return NRT_SUCCESS;
    }
    struct kymo_options options = KYMO_OPTIONS;
    uint64_t max = (uint64_t)1 << 32;
    options.output_dir = config->output_dir;
    options.max_events = config->filter.max_events < max ? config->filter.max_events : max;
    options.level = config->activities[SYSTEM_PROFILE] ? options.level : 0;
    options.devices = config->activities[DEVICE_PROFILE] ? KYMO_DEVICES_MODEL : KYMO_DEVICES_NONE;
    options.cpu_util_ms = config->activities[CPU_UTIL] ? options.cpu_util_ms : 0;
    options.host_memory_ms = config->activities[HOST_MEMORY] ? options.host_memory_ms : 0;
    if (config->filters_cores) {
        write_cores(cores, sizeof cores, config->filter.cores);
        options.event_cores = cores;
    }
    if (config->filters_types) {
        write_types(types, sizeof types, config->filter.types);
        options.event_types = types;
    }
    NRT_STATUS status = begin_capture(&options, function);
    if (status == NRT_SUCCESS)
        begin_devices(config->on_fail, config->requests_devices, function);
    session_number = config->session_id;
    return status;
}

NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *options)
{
    struct nrt_inspect_config defaults;
    set_defaults(&defaults);
    lock_take(&inspect_lock);
    NRT_STATUS status = begin_with(options ? options : &defaults);
    lock_release(&inspect_lock);
    return status;
}

/* With the lock held. */
static NRT_STATUS begin_from_environment(void)
{
    static const char function[] = "nrt_inspect_begin";
    struct kymo_options options = KYMO_OPTIONS;
    if (state != IDLE) {
        say("%s: a session has already begun", function);
        return NRT_FAILURE;
    }
    NRT_STATUS status = NRT_SUCCESS;
    if (!kymo_options_from_environment(&options)) {
        say("%s: NEURON_RT_INSPECT_ENABLE is not set; nothing is captured", function);
        state = BEGUN;
    } else {
        status = begin_capture(&options, NULL);
    }
    if (status == NRT_SUCCESS)
        begin_devices(fails_in_environment(),
                      options.devices != KYMO_DEVICES_NONE || fails_in_environment(), function);
    return status;
}

NRT_STATUS nrt_inspect_begin(void)
{
    lock_take(&inspect_lock);
    NRT_STATUS status = begin_from_environment();
    lock_release(&inspect_lock);
    return status;
}

NRT_STATUS nrt_inspect_stop(void)
{
    NRT_STATUS status = NRT_SUCCESS;
    if (!device_may_wait(__func__))
        return NRT_FAILURE;
    is_by_call = false;
    has_ended = true;
    if (device_profiler && device_profiler->session_end)
        device_profiler->session_end(); /* waits for executions: not with the lock held */
    lock_take(&inspect_lock);
    bool is_ours = state == CAPTURING;
    if (state == IDLE)
        is_ours = is_set("NEURON_RT_INSPECT_ENABLE");
    if (is_ours) {
        int result = kymo_stop();
        status = result == 0 ? NRT_SUCCESS : result == -EALREADY ? NRT_UNINITIALIZED : NRT_FAILURE;
    } else if (state == IDLE) {
        status = NRT_UNINITIALIZED;
    }
    state = IDLE;
    lock_release(&inspect_lock);
    return status;
}
