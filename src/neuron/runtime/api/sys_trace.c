/*
 * nrt_sys_trace.h: configuration, start and stop, and fetching as JSON.
 */
#include "neuron/runtime/api/json.h"
#include "neuron/runtime/api/lists.h"

#include <nrt/nrt_sys_trace.h>
#include <stdlib.h>
#include <string.h>

struct nrt_sys_trace_config {
    struct rings_config rings;
};

#define ALL_CORES UINT64_MAX
struct nrt_sys_trace_fetch_options {
    uint64_t max_events; /* 0: no limit */
    uint64_t core;
};

NRT_STATUS nrt_sys_trace_config_allocate(nrt_sys_trace_config_t **options)
{
    if (!options)
        return NRT_INVALID;
    *options = malloc(sizeof **options);
    if (!*options)
        return NRT_RESOURCE;
    nrt_sys_trace_config_set_defaults(*options);
    return NRT_SUCCESS;
}

void nrt_sys_trace_config_set_defaults(nrt_sys_trace_config_t *options)
{
    if (options)
        config_from_environment(&options->rings);
}

void nrt_sys_trace_config_free(nrt_sys_trace_config_t *options)
{
    free(options);
}

void nrt_sys_trace_config_set_max_events_per_nc(nrt_sys_trace_config_t *options,
                                                uint64_t max_events_per_nc)
{
    if (options)
        options->rings.max_events = max_events_per_nc;
}

void nrt_sys_trace_config_set_capture_enabled_for_nc(nrt_sys_trace_config_t *options,
                                                     uint32_t nc_idx, bool enabled)
{
    if (options && nc_idx < RINGS_CORES)
        event_set_bit(options->rings.cores, nc_idx, enabled);
}

NRT_STATUS nrt_sys_trace_config_set_capture_enabled_for_event_type(nrt_sys_trace_config_t *options,
                                                                   const char *event_type,
                                                                   bool enabled)
{
    if (!options || !event_type)
        return NRT_INVALID;
    return type_enable(options->rings.types, event_type, enabled);
}

NRT_STATUS nrt_sys_trace_get_event_types(const char ***event_types, size_t *count)
{
    static const uint64_t all[EVENT_TYPE_WORDS] = {UINT64_MAX, UINT64_MAX};
    if (!event_types || !count)
        return NRT_INVALID;
    return list_types(event_types, count, all);
}

void nrt_sys_trace_free_event_types(const char **event_types, size_t count)
{
    list_free(event_types, count);
}

NRT_STATUS nrt_sys_trace_config_get_enabled_event_types(nrt_sys_trace_config_t *options,
                                                        const char ***event_types, size_t *count)
{
    if (!options || !event_types || !count)
        return NRT_INVALID;
    return list_types(event_types, count, options->rings.types);
}

NRT_STATUS nrt_sys_trace_start(nrt_sys_trace_config_t *options)
{
    if (!options || options->rings.max_events == 0)
        return NRT_INVALID;
    switch (rings_start(&options->rings)) {
    case RINGS_OK:
        return NRT_SUCCESS;
    case RINGS_NO_MEMORY:
        say("nrt_sys_trace_start: not enough memory for rings of %llu events per core",
            (unsigned long long)options->rings.max_events);
        return NRT_RESOURCE;
    default:
        say("nrt_sys_trace_start: a trace is already running");
        return NRT_FAILURE;
    }
}

NRT_STATUS nrt_sys_trace_stop(void)
{
    return rings_stop() == RINGS_OK ? NRT_SUCCESS : NRT_UNINITIALIZED;
}

NRT_STATUS nrt_sys_trace_fetch_options_allocate(nrt_sys_trace_fetch_options_t **options)
{
    if (!options)
        return NRT_INVALID;
    *options = malloc(sizeof **options);
    if (!*options)
        return NRT_RESOURCE;
    nrt_sys_trace_fetch_options_set_defaults(*options);
    return NRT_SUCCESS;
}

void nrt_sys_trace_fetch_options_set_defaults(nrt_sys_trace_fetch_options_t *options)
{
    if (options)
        *options = (struct nrt_sys_trace_fetch_options){.core = ALL_CORES};
}

void nrt_sys_trace_fetch_options_free(nrt_sys_trace_fetch_options_t *options)
{
    free(options);
}

void nrt_sys_trace_fetch_options_set_max_events_per_nc(nrt_sys_trace_fetch_options_t *options,
                                                       uint64_t max_events_per_nc)
{
    if (options)
        options->max_events = max_events_per_nc;
}

void nrt_sys_trace_fetch_options_set_nc_idx(nrt_sys_trace_fetch_options_t *options, uint64_t nc_idx)
{
    if (options)
        options->core = nc_idx;
}

/* Takes a few events per lock acquisition, as programs wait for it. Events that arrive meanwhile
 * stay for the next fetch. Returns how many were taken. */
static uint64_t write_ring(struct json *json, uint32_t ring, uint64_t max, const char **between)
{
    enum { CHUNK = 64 };
    struct rings_event events[CHUNK];
    uint64_t left = rings_waiting(ring), taken = 0;
    left = max && left > max ? max : left;
    while (left > 0 && !json->failed) {
        size_t count = rings_take(ring, events, left < CHUNK ? (size_t)left : CHUNK);
        for (size_t i = 0; i < count; i++) {
            trace_json_raw(json, *between);
            trace_json_event(json, &events[i], ring);
            rings_event_free(&events[i]);
            *between = ",\n";
        }
        left = count ? left - count : 0;
        taken += count;
    }
    return taken;
}

/* The caller frees the buffer. When memory runs out, the events that were taken count as lost and
 * are reported by the next fetch. */
NRT_STATUS nrt_sys_trace_fetch_events(char **buffer, size_t *written_size,
                                      const nrt_sys_trace_fetch_options_t *options)
{
    uint64_t core = options ? options->core : ALL_CORES;
    uint64_t max = options ? options->max_events : 0;
    if (!buffer || !written_size || (core != ALL_CORES && core >= RINGS_CORES))
        return NRT_INVALID;
    if (!rings_are_running())
        return NRT_UNINITIALIZED;
    struct json json = {0};
    const char *between = "";
    uint64_t lost = 0, gone[RINGS] = {0};
    trace_json_raw(&json, "{\"events\":[");
    for (uint32_t ring = 0; ring < RINGS; ring++) {
        if (core != ALL_CORES && core != ring)
            continue;
        gone[ring] = rings_take_lost(ring);
        lost += gone[ring];
        gone[ring] += write_ring(&json, ring, max, &between);
    }
    trace_json_raw(&json, "],\"data_version\":2");
    if (lost > 0) {
        trace_json_raw(&json, ",\"lost_events\":");
        trace_json_unsigned(&json, lost);
    }
    trace_json_raw(&json, "}");
    if (json.failed) {
        for (uint32_t ring = 0; ring < RINGS; ring++)
            rings_add_lost(ring, gone[ring]);
        free(json.text);
        return NRT_RESOURCE;
    }
    *buffer = json.text;
    *written_size = json.size;
    return NRT_SUCCESS;
}

void nrt_sys_trace_buffer_free(char *buffer)
{
    free(buffer);
}
