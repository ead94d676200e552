/*
 * A runtime with a system trace of its own, for the tests of the interposer: nothing of it is
 * Kymo's. What it emits is also written to the file TRACER_LOG, one event a line. Variables change
 * its manners:
 *
 *   TRACER_RING=N          rings keep N events, whatever is asked for; the oldest go
 *   TRACER_LOST=1          a fetch says how many went ("lost_events")
 *   TRACER_OLD=1           older names of types
 *   TRACER_CLOCK=mono      timestamps of CLOCK_MONOTONIC
 *   TRACER_FAIL=F          the function nrt_sys_trace_F fails
 *   TRACER_FORK=1          a fork waits for its lock, and gives others time to take theirs
 *   TRACER_BAD=J           the JSON is: cut, text, list, none; or has odd items
 */
#include "published.h"

#include <fcntl.h>
#include <nrt/nrt_sys_trace.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#pragma GCC visibility push(default)

enum { CORES = 4, RINGS = CORES + 1, DEVICE_OFFSET = 123456789 };

struct nrt_model {
    int core;
    unsigned id, executions;
};
struct nrt_sys_trace_config {
    uint64_t max_events;
    bool cores[128];
};
struct nrt_sys_trace_fetch_options {
    uint64_t max_events, core;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open, is_running, is_fetching, enabled[RINGS];
static uint64_t slots, first[RINGS], last[RINGS], lost, next_id = 1, models, executions;
static char **rings[RINGS];
static int log_file = -1;

static bool has(const char *variable, const char *value)
{
    const char *found = getenv(variable);
    return found && strcmp(found, value) == 0;
}

static const char *name_of(const char *type)
{
    static const char *const old[][2] = {{"nrt_execute", "runtime_execute"},
                                         {"nc_exec_running", "device_exec"},
                                         {"nrt_load", "model_load"}};
    for (size_t i = 0; has("TRACER_OLD", "1") && i < sizeof old / sizeof *old; i++)
        if (strcmp(old[i][0], type) == 0)
            return old[i][1];
    return type;
}

static int64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t host_now(void)
{
    return now(has("TRACER_CLOCK", "mono") ? CLOCK_MONOTONIC : CLOCK_REALTIME);
}

static int64_t device_now(void)
{
    return now(CLOCK_MONOTONIC) - DEVICE_OFFSET;
}

/* One moment on both clocks: a thread may be suspended between readings. */
static void sync_point(int64_t *host, int64_t *device)
{
    int64_t after;
    do {
        *host = host_now();
        *device = device_now();
        after = host_now();
    } while (after - *host > 5000);
}

static void push(int core, char *text)
{
    if (log_file >= 0) { /* in one piece, even if another thread exits: exit flushes all streams,
                            dprintf's too */
        struct iovec parts[] = {{text, strlen(text)}, {"\n", 1}};
        if (writev(log_file, parts, 2) < 0)
            abort();
    }
    if (!is_running || !enabled[core]) {
        free(text);
        return;
    }
    if (last[core] - first[core] == slots) {
        free(rings[core][first[core]++ % slots]);
        lost++;
    }
    rings[core][last[core]++ % slots] = text;
}

/* core -1: none. phase NULL: a moment. data: JSON's members. */
static void emit(const char *type, int core, const char *phase, uint64_t id, const char *data, ...)
{
    char members[512], *text;
    va_list args;
    va_start(args, data);
    vsnprintf(members, sizeof members, data, args);
    va_end(args);
    pthread_mutex_lock(&lock);
    char where[32] = "", when[32] = "";
    if (core >= 0)
        snprintf(where, sizeof where, "\"nc_idx\": %d, ", core);
    if (phase)
        snprintf(when, sizeof when, "\"phase\": \"%s\", ", phase);
    if (asprintf(&text,
                 "{\"data\": {%s}, %s%s\"event_type\": \"%s\", \"tracking_id\": %llu, "
                 "\"timestamp_ns\": %lld, \"rank_id\": 7}",
                 members, where, when, name_of(type), (unsigned long long)id,
                 (long long)host_now()) > 0)
        push(core < 0 ? CORES : core, text);
    pthread_mutex_unlock(&lock);
}

static uint64_t new_id(void)
{
    return __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
}

/* Long enough for a thread that fetches every 100 ms to wait for the lock, if it can get here. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    int64_t until = now(CLOCK_MONOTONIC) + 300000000;
    __atomic_store_n(&is_fetching, false, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&is_fetching, __ATOMIC_SEQ_CST) && now(CLOCK_MONOTONIC) < until)
        sched_yield();
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

/* ---- The runtime --------------------------------------------------------------------------- */

NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version, const char *fal_version)
{
    (void)framework;
    (void)fw_version;
    (void)fal_version;
    if (getenv("TRACER_LOG") && log_file < 0)
        log_file = open(getenv("TRACER_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    static bool is_watching;
    if (has("TRACER_FORK", "1") && !is_watching)
        is_watching = pthread_atfork(before_fork, after_fork, after_fork) == 0;
    is_open = true;
    return NRT_SUCCESS;
}

void nrt_close(void)
{
    is_open = false;
    nrt_sys_trace_stop();
}

NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                    nrt_model_t **model)
{
    (void)neff_bytes;
    (void)vnc_count;
    uint64_t id = new_id();
    emit("nrt_load", vnc, "start", id, "\"size\": %zu", size);
    *model = calloc(1, sizeof **model);
    (*model)->core = vnc;
    (*model)->id = (unsigned)__atomic_add_fetch(&models, 1, __ATOMIC_RELAXED);
    emit("nrt_load", vnc, "stop", id, "\"model_id\": %u", (*model)->id);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_unload(nrt_model_t *model)
{
    free(model);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                       nrt_tensor_set_t *output_set)
{
    (void)input_set;
    (void)output_set;
    int core = model->core;
    uint64_t id = new_id(), run = __atomic_add_fetch(&executions, 1, __ATOMIC_RELAXED);
    emit("nrt_execute", core, "start", id,
         "\"model_id\": %u, \"model_name\": \"a \\\"b\\\" \\u00e9\"", model->id);
    for (int physical = 0; physical < 2; physical++) { /* a logical core of two */
        uint64_t device_id = new_id();
        emit("nc_exec_running", core, "start", device_id,
             "\"exec_id\": %llu, \"device_core_idx\": %d, \"nc_timestamp_ns\": %lld",
             (unsigned long long)run, 2 * core + physical, (long long)device_now());
        emit("nc_exec_running", core, "stop", device_id, "\"nc_timestamp_ns\": %lld",
             (long long)device_now());
    }
    int64_t host, device;
    sync_point(&host, &device);
    emit("timestamp_sync_point", core, NULL, new_id(),
         "\"exec_id\": %llu, \"cpu_timestamp_ns\": %lld, \"nc_timestamp_ns\": %lld",
         (unsigned long long)run, (long long)host, (long long)device);
    emit("vendor_detail", -1, NULL, 0,
         "\"share\": 0.25, \"on\": true, \"none\": null, \"list\": [1, 2], \"most\": "
         "18446744073709551615, \"least\": -5");
    emit("nrt_execute", core, "stop", id, "\"status\": 0");
    return NRT_SUCCESS;
}

/* ---- Its trace ----------------------------------------------------------------------------- */

NRT_STATUS nrt_sys_trace_config_allocate(nrt_sys_trace_config_t **options)
{
    if (has("TRACER_FAIL", "config_allocate"))
        return NRT_RESOURCE;
    *options = malloc(sizeof **options);
    (*options)->max_events = 1000000;
    memset((*options)->cores, true, sizeof(*options)->cores);
    return NRT_SUCCESS;
}

void nrt_sys_trace_config_free(nrt_sys_trace_config_t *options)
{
    free(options);
}

void nrt_sys_trace_config_set_max_events_per_nc(nrt_sys_trace_config_t *options,
                                                uint64_t max_events_per_nc)
{
    options->max_events = max_events_per_nc;
}

void nrt_sys_trace_config_set_capture_enabled_for_nc(nrt_sys_trace_config_t *options,
                                                     uint32_t nc_idx, bool on)
{
    options->cores[nc_idx] = on;
}

NRT_STATUS nrt_sys_trace_get_event_types(const char ***event_types, size_t *count)
{
    static const char *const names[] = {"nrt_execute", "nc_exec_running", "timestamp_sync_point",
                                        "nrt_load", "vendor_detail"};
    if (has("TRACER_FAIL", "get_event_types"))
        return NRT_FAILURE;
    *count = sizeof names / sizeof *names;
    *event_types = calloc(*count, sizeof **event_types);
    for (size_t i = 0; i < *count; i++)
        (*event_types)[i] = strdup(name_of(names[i]));
    return NRT_SUCCESS;
}

void nrt_sys_trace_free_event_types(const char **event_types, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((char *)event_types[i]);
    free(event_types);
}

static void close_rings(void)
{
    for (int i = 0; i < RINGS; i++) {
        for (; first[i] < last[i]; first[i]++)
            free(rings[i][first[i] % slots]);
        free(rings[i]);
        rings[i] = NULL;
        first[i] = last[i] = 0;
    }
    is_running = false;
    lost = 0;
}

NRT_STATUS nrt_sys_trace_start(nrt_sys_trace_config_t *options)
{
    NRT_STATUS status = NRT_FAILURE;
    pthread_mutex_lock(&lock);
    const char *limit = getenv("TRACER_RING");
    if (!is_open)
        status = NRT_UNINITIALIZED;
    else if (has("TRACER_FAIL", "memory") && options->max_events > 10000)
        status = NRT_RESOURCE;
    else if (!is_running && !has("TRACER_FAIL", "start")) {
        slots = limit ? strtoull(limit, NULL, 10) : options->max_events;
        for (int i = 0; i < RINGS; i++) {
            rings[i] = calloc(slots, sizeof *rings[i]);
            enabled[i] = i == CORES || options->cores[i];
        }
        is_running = true;
        status = NRT_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

NRT_STATUS nrt_sys_trace_stop(void)
{
    pthread_mutex_lock(&lock);
    NRT_STATUS status = is_running ? NRT_SUCCESS : NRT_UNINITIALIZED;
    if (is_running)
        close_rings();
    pthread_mutex_unlock(&lock);
    return status;
}

NRT_STATUS nrt_sys_trace_fetch_options_allocate(nrt_sys_trace_fetch_options_t **options)
{
    *options = malloc(sizeof **options);
    **options = (struct nrt_sys_trace_fetch_options){UINT64_MAX, UINT64_MAX};
    return NRT_SUCCESS;
}

void nrt_sys_trace_fetch_options_free(nrt_sys_trace_fetch_options_t *options)
{
    free(options);
}

void nrt_sys_trace_fetch_options_set_max_events_per_nc(nrt_sys_trace_fetch_options_t *options,
                                                       uint64_t max_events_per_nc)
{
    options->max_events = max_events_per_nc;
}

/* With the lock held. */
static void write_events(FILE *out, const nrt_sys_trace_fetch_options_t *options)
{
    const char *between = "";
    uint64_t most = options ? options->max_events : UINT64_MAX;
    for (int i = 0; i < RINGS; i++)
        for (uint64_t count = 0; first[i] < last[i] && count < most; count++, between = ",\n") {
            char *text = rings[i][first[i]++ % slots];
            fprintf(out, "%s%s", between, text);
            free(text);
        }
    if (has("TRACER_BAD", "odd"))
        fprintf(out,
                "%s1, {}, {\"event_type\": 3, \"timestamp_ns\": 1}, {\"event_type\": \"x\", "
                "\"timestamp_ns\": -9223372036854775808}, {\"event_type\": \"y\", "
                "\"timestamp_ns\": 1e3}, [[]]",
                between);
}

NRT_STATUS nrt_sys_trace_fetch_events(char **buffer, size_t *written_size,
                                      const nrt_sys_trace_fetch_options_t *options)
{
    __atomic_store_n(&is_fetching, true, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&lock);
    NRT_STATUS status = !is_running                          ? NRT_UNINITIALIZED
                        : has("TRACER_FAIL", "fetch_events") ? NRT_FAILURE
                                                             : NRT_SUCCESS;
    if (status == NRT_SUCCESS) {
        FILE *out = open_memstream(buffer, written_size);
        fprintf(out, has("TRACER_BAD", "list") ? "[" : "{ \"data_version\": 2, \"%s\": [",
                has("TRACER_BAD", "none") ? "other" : "events");
        write_events(out, options);
        fprintf(out, "]");
        if (has("TRACER_LOST", "1") && lost)
            fprintf(out, ", \"lost_events\": %llu", (unsigned long long)lost);
        fprintf(out, has("TRACER_BAD", "list") ? "" : has("TRACER_BAD", "text") ? "}}" : "}");
        lost = 0;
        fclose(out);
        if (has("TRACER_BAD", "cut"))
            *written_size = *written_size * 2 / 3;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

void nrt_sys_trace_buffer_free(char *buffer)
{
    free(buffer);
}
