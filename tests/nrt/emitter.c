/*
 * Does what its input says, line by line, and prints one line for each: the system trace and the
 * session interface, and events through the header that runtimes use. Built with the sources of the
 * library, as that header is not for programs.
 *
 *     config | free | max N | core N 0|1 | type NAME 0|1 | enabled | start | stop
 *     emit TYPE CORE PHASE ID [KEY i|u|d|t VALUE]...     core -1: none
 *     random SEED COUNT        as many events as chance makes; prints them as a JSON list
 *     threads N COUNT          the same type from several threads
 *     fetch [CORE|-1 [MAX]]
 *     inspect DIR [core|type|activity NAME 0|1]... | begin | end
 *     ago TYPE CORE ID NS      a moment that was so long ago
 *     fork                     a child emits one event and fetches; its answer is on the same line
 *     device                   from here on there is a device that takes profiles
 *     profile FILE | unprofile FILE | continuous | save CORE DIR | discontinuous
 */
#include "capture/neuron/trace.h"
#include "neuron/runtime/api/device.h"

#include <inttypes.h>
#include <nrt/nrt_profile.h>
#include <nrt/nrt_sys_trace.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WORDS = 64, MOST_ARGS = 12 };

static const char *const keys[] = {"model_id", "model_name", "exec_id", "size", "ratio", "note"};
static nrt_sys_trace_config_t *config;

static const char *static_key(const char *text)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], text) == 0)
            return keys[i];
    exit(3);
}

static void print_status(NRT_STATUS status)
{
    printf("%s\n", nrt_get_status_as_str(status));
}

static void emit(char **words, size_t count)
{
    struct kymo_arg args[MOST_ARGS];
    size_t used = 0;
    struct trace_record event = {.type = event_type_find(words[1], strlen(words[1])),
                                 .core = (uint32_t)strtol(words[2], NULL, 10),
                                 .phase = (enum trace_phase)strtol(words[3], NULL, 10),
                                 .tracking_id = strtoull(words[4], NULL, 10)};
    for (size_t i = 5; i + 2 < count && used < MOST_ARGS; i += 3, used++) {
        const char *key = static_key(words[i]), *value = words[i + 2];
        args[used] = *words[i + 1] == 'i'   ? kymo_int(key, strtoll(value, NULL, 10))
                     : *words[i + 1] == 'u' ? kymo_uint(key, strtoull(value, NULL, 10))
                     : *words[i + 1] == 'd' ? kymo_double(key, strtod(value, NULL))
                                            : kymo_text(key, value);
    }
    trace_emit(&event, args, used);
    printf("ok\n");
}

static uint64_t chance(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void random_event(uint64_t *seed)
{
    static const char *const written[] = {"", "resnet", "a \\\"quoted\\\" name", "\\u00e9t\\u00e9"};
    static const char *const names[] = {"", "resnet", "a \"quoted\" name", "\xC3\xA9t\xC3\xA9"};
    enum runtime_event type = (enum runtime_event)(chance(seed) % EVENT_PUBLISHED);
    uint32_t core = chance(seed) % 10 ? (uint32_t)(chance(seed) % 4) : TRACE_NO_CORE;
    enum trace_phase phase = (enum trace_phase)(chance(seed) % 3);
    uint64_t id = chance(seed) << 31 | chance(seed);
    int64_t whole = (int64_t)(chance(seed) << 20) - ((int64_t)1 << 50);
    double real = (double)whole / 1024;
    size_t name = chance(seed) % 4;
    bool has_args = chance(seed) % 2;
    int64_t before = now_ns(CLOCK_REALTIME);
    if (has_args)
        trace_event(type, core, phase, id, kymo_int("exec_id", whole), kymo_double("ratio", real),
                    kymo_text("model_name", names[name]), kymo_uint("size", UINT64_MAX - id));
    else
        trace_event(type, core, phase, id);
    printf("{\"type\": \"%s\", \"core\": %d, \"phase\": %d, \"id\": %" PRIu64
           ", \"before\": %" PRId64 ", \"after\": %" PRId64 ", \"data\": {",
           event_type_name(type), (int)core, (int)phase, id, before, now_ns(CLOCK_REALTIME));
    if (has_args)
        printf("\"exec_id\": %" PRId64
               ", \"ratio\": %.17g, \"model_name\": \"%s\", \"size\": %" PRIu64,
               whole, real, written[name], UINT64_MAX - id);
    printf("}}");
}

static void random_events(uint64_t seed, int count)
{
    printf("[");
    for (int i = 0; i < count; i++) {
        printf("%s", i ? ", " : "");
        random_event(&seed);
    }
    printf("]\n");
}

static void *emit_many(void *count)
{
    for (int64_t i = 0; i < *(const int64_t *)count; i++) {
        uint64_t id = trace_next_id();
        trace_event(EVENT_nrt_execute, (uint32_t)(i % 3), TRACE_START, id,
                    kymo_text("model_name", "shared"));
        trace_event(EVENT_nrt_execute, (uint32_t)(i % 3), TRACE_STOP, id);
    }
    return NULL;
}

/* Somebody fetches, starts and stops meanwhile. */
static void threads(int number, int64_t count)
{
    pthread_t thread[16];
    uint64_t fetched = 0;
    for (int i = 0; i < number; i++)
        pthread_create(&thread[i], NULL, emit_many, &count);
    for (int i = 0; i < 20; i++) {
        char *text;
        size_t size;
        if (nrt_sys_trace_fetch_events(&text, &size, NULL) == NRT_SUCCESS) {
            fetched += size;
            nrt_sys_trace_buffer_free(text);
        }
        if (i % 5 == 4) {
            nrt_sys_trace_stop();
            nrt_sys_trace_start(config);
        }
    }
    for (int i = 0; i < number; i++)
        pthread_join(thread[i], NULL);
    printf("%s\n", fetched ? "ok" : "nothing");
}

static void fetch(char **words, size_t count)
{
    nrt_sys_trace_fetch_options_t *options = NULL;
    char *text;
    size_t size;
    if (count > 1) {
        nrt_sys_trace_fetch_options_allocate(&options);
        if (strcmp(words[1], "-1") != 0)
            nrt_sys_trace_fetch_options_set_nc_idx(options, strtoull(words[1], NULL, 10));
        if (count > 2)
            nrt_sys_trace_fetch_options_set_max_events_per_nc(options,
                                                              strtoull(words[2], NULL, 10));
    }
    NRT_STATUS status = nrt_sys_trace_fetch_events(&text, &size, options);
    nrt_sys_trace_fetch_options_free(options);
    if (status != NRT_SUCCESS) {
        print_status(status);
        return;
    }
    for (size_t i = 0; i < size; i++)
        putchar(text[i] == '\n' ? ' ' : text[i]);
    printf("%s\n", text[size] == '\0' ? "" : "no end");
    nrt_sys_trace_buffer_free(text);
}

static void inspect(char **words, size_t count)
{
    nrt_inspect_config_t *options;
    nrt_inspect_config_allocate(&options);
    nrt_inspect_config_set_output_dir(options, words[1]);
    nrt_inspect_config_set_enable_inspect(options, true);
    for (size_t i = 2; i + 2 < count; i += 3) {
        bool on = *words[i + 2] == '1';
        if (strcmp(words[i], "core") == 0)
            nrt_inspect_config_set_capture_enabled_for_nc(
                options, (uint32_t)strtoul(words[i + 1], NULL, 10), on);
        else if (strcmp(words[i], "type") == 0)
            nrt_inspect_config_set_capture_enabled_for_event_type_string(options, words[i + 1], on);
        else
            nrt_inspect_config_set_activity(options, words[i + 1], on);
    }
    print_status(nrt_inspect_begin_with_options(options));
    nrt_inspect_config_free(options);
}

static void ago(char **words)
{
    int64_t before, after, expected;
    do { /* until it was not suspended between readings */
        before = now_ns(CLOCK_MONOTONIC);
        expected = now_ns(CLOCK_REALTIME) - atoll(words[4]);
        after = now_ns(CLOCK_MONOTONIC);
    } while (after - before > 10000);
    int64_t then = before - atoll(words[4]);
    trace_event_at(event_type_find(words[1], strlen(words[1])),
                   (uint32_t)strtol(words[2], NULL, 10), TRACE_POINT, strtoull(words[3], NULL, 10),
                   then);
    printf("%" PRId64 "\n", expected);
}

static void fork_and_fetch(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        trace_event(EVENT_nrt_load, 0, TRACE_POINT, 77);
        fetch(NULL, 0);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (status != 0)
        printf("%d\n", status);
}

/* A device that only says what it was asked for. */
static NRT_STATUS device_start(nrt_model_t *model, const char *filename)
{
    printf("started %d %s ", model != NULL, filename);
    return NRT_SUCCESS;
}

static NRT_STATUS device_stop(const char *filename)
{
    printf("stopped %s ", filename);
    return NRT_SUCCESS;
}

static NRT_STATUS device_continuous(void)
{
    printf("continuous ");
    return NRT_SUCCESS;
}

static NRT_STATUS device_save(uint32_t vnc, const char *directory)
{
    printf("saved %u %s ", vnc, directory);
    return NRT_SUCCESS;
}

static const struct device_profiler device = {device_start, device_stop, device_continuous,
                                              device_save, device_continuous};

static bool profile(char **words, size_t count)
{
    int something;
    nrt_profile_continuous_options_t *options;
    nrt_profile_continuous_options_allocate(&options);
    NRT_STATUS status = NRT_SUCCESS;
    bool known = true;
    if (strcmp(words[0], "device") == 0) {
        device_profiler = &device;
    } else if (strcmp(words[0], "profile") == 0) {
        status = nrt_profile_start((nrt_model_t *)(void *)&something, words[1]);
    } else if (strcmp(words[0], "unprofile") == 0) {
        status = nrt_profile_stop(words[1]);
    } else if (strcmp(words[0], "continuous") == 0) {
        status = nrt_profile_continuous_start(options);
    } else if (strcmp(words[0], "save") == 0) {
        if (count > 2)
            nrt_profile_continuous_options_set_output_dir(options, words[2]);
        status = nrt_profile_continuous_save((uint32_t)atoi(words[1]), options);
    } else if (strcmp(words[0], "discontinuous") == 0) {
        status = nrt_profile_continuous_stop();
    } else {
        known = false;
    }
    nrt_profile_continuous_options_free(options);
    if (known)
        print_status(status);
    return known;
}

static void print_enabled(void)
{
    const char **types;
    size_t count;
    nrt_sys_trace_config_get_enabled_event_types(config, &types, &count);
    for (size_t i = 0; i < count; i++)
        printf("%s%s", i ? " " : "", types[i]);
    printf("\n");
    nrt_sys_trace_free_event_types(types, count);
}

static void configure(char **words)
{
    if (strcmp(words[0], "config") == 0) {
        print_status(nrt_sys_trace_config_allocate(&config));
    } else if (strcmp(words[0], "free") == 0) {
        nrt_sys_trace_config_free(config);
        printf("ok\n");
    } else if (strcmp(words[0], "max") == 0) {
        nrt_sys_trace_config_set_max_events_per_nc(config, strtoull(words[1], NULL, 10));
        printf("ok\n");
    } else if (strcmp(words[0], "core") == 0) {
        nrt_sys_trace_config_set_capture_enabled_for_nc(
            config, (uint32_t)strtoul(words[1], NULL, 10), *words[2] == '1');
        printf("ok\n");
    } else if (strcmp(words[0], "type") == 0) {
        print_status(nrt_sys_trace_config_set_capture_enabled_for_event_type(config, words[1],
                                                                             *words[2] == '1'));
    } else if (strcmp(words[0], "enabled") == 0) {
        print_enabled();
    } else {
        exit(2);
    }
}

static void act(char **words, size_t count)
{
    if (strcmp(words[0], "emit") == 0)
        emit(words, count);
    else if (strcmp(words[0], "random") == 0)
        random_events(strtoull(words[1], NULL, 10), atoi(words[2]));
    else if (strcmp(words[0], "threads") == 0)
        threads(atoi(words[1]), atoll(words[2]));
    else if (strcmp(words[0], "fetch") == 0)
        fetch(words, count);
    else if (strcmp(words[0], "inspect") == 0)
        inspect(words, count);
    else if (strcmp(words[0], "begin") == 0)
        print_status(nrt_inspect_begin());
    else if (strcmp(words[0], "end") == 0)
        print_status(nrt_inspect_stop());
    else if (strcmp(words[0], "start") == 0)
        print_status(nrt_sys_trace_start(config));
    else if (strcmp(words[0], "stop") == 0)
        print_status(nrt_sys_trace_stop());
    else if (strcmp(words[0], "ago") == 0)
        ago(words);
    else if (strcmp(words[0], "fork") == 0)
        fork_and_fetch();
    else if (!profile(words, count))
        configure(words);
}

int main(void)
{
    char line[4096], *words[MOST_WORDS], *rest;
    while (fgets(line, sizeof line, stdin)) {
        size_t count = 0;
        for (char *word = strtok_r(line, " \n", &rest); word && count < MOST_WORDS;
             word = strtok_r(NULL, " \n", &rest))
            words[count++] = word;
        if (count > 0)
            act(words, count);
        fflush(stdout);
    }
    return 0;
}
