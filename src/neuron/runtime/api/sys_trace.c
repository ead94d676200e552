/*
 * nrt_sys_trace.h: configuration, start and stop, and fetching as JSON.
 */
#include "base/wire/wire.h"
#include "neuron/runtime/api/lists.h"

#include <math.h>
#include <nrt/nrt_sys_trace.h>
#include <stdio.h>
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

/* ---- Fetching ------------------------------------------------------------------------------ */

/* The document, in memory that the program frees. Room is made before anything is written, so that
 * running out of memory is reported: src/base would end the program. */
struct document {
    struct output out;
    bool failed; /* out of memory; later writes are left out */
};

/* For that many bytes and the NUL behind them. */
static bool make_room(struct document *document, size_t size)
{
    struct output *out = &document->out;
    if (document->failed || size < out->capacity - out->size)
        return !document->failed;
    size_t capacity = out->capacity ? out->capacity : 4096;
    while (capacity - out->size <= size && capacity <= SIZE_MAX / 4)
        capacity *= 2;
    char *grown = realloc(out->data, capacity);
    if (grown) {
        out->data = grown;
        out->capacity = capacity;
    }
    document->failed = !grown;
    return grown;
}

static void put_plain(struct document *document, const char *text)
{
    if (make_room(document, strlen(text)))
        output_text(&document->out, text);
}

/* At most as large as this: each byte of a text may be escaped. */
static size_t size_of_event(const struct rings_event *event)
{
    enum { FIXED = 512, NUMBER = JSON_DOUBLE_SIZE, ESCAPED = 6 };
    size_t size = FIXED;
    for (unsigned i = 0; i < event->count; i++) {
        const char *text = event->kind[i] == KYMO_TEXT ? event->value[i].text : NULL;
        size += NUMBER + ESCAPED * (event->key[i] ? strlen(event->key[i]) : sizeof "value");
        size += text ? ESCAPED * strlen(text) : 0;
    }
    return size;
}

static void put_value(struct json *json, const struct rings_event *event, unsigned i)
{
    if (event->kind[i] == KYMO_INT)
        json_int(json, event->value[i].i);
    else if (event->kind[i] == KYMO_UINT)
        json_uint(json, event->value[i].u);
    else if (event->kind[i] == KYMO_DOUBLE && isfinite(event->value[i].d))
        json_double(json, event->value[i].d);
    else if (event->kind[i] == KYMO_TEXT && event->value[i].text)
        json_text(json, text_of(event->value[i].text));
    else
        json_null(json);
}

static void put_event(struct output *out, const struct rings_event *event, uint32_t ring)
{
    struct json json;
    json_begin(&json, out, false);
    json_open(&json, '{');
    json_put_text(&json, "event_type", text_of(event_type_name((enum runtime_event)event->type)));
    if (event->phase != TRACE_POINT)
        json_put_text(&json, "phase", event->phase == TRACE_START ? TEXT("start") : TEXT("stop"));
    json_put_uint(&json, "tracking_id", event->tracking_id);
    if (ring < RINGS_CORES)
        json_put_uint(&json, "nc_idx", ring);
    json_put_int(&json, "timestamp_ns", event->time_ns);
    json_key(&json, "data");
    json_open(&json, '{');
    for (unsigned i = 0; i < event->count; i++) {
        json_key(&json, event->key[i] ? event->key[i] : "value");
        put_value(&json, event, i);
    }
    json_close(&json, '}');
    json_close(&json, '}');
}

/* Takes a few events per lock acquisition, as programs wait for it. Events that arrive meanwhile
 * stay for the next fetch. Returns how many were taken. */
static uint64_t write_ring(struct document *document, uint32_t ring, uint64_t max,
                           const char **between)
{
    enum { CHUNK = 64 };
    struct rings_event events[CHUNK];
    uint64_t left = rings_waiting(ring), taken = 0;
    left = max && left > max ? max : left;
    while (left > 0 && !document->failed) {
        size_t count = rings_take(ring, events, left < CHUNK ? (size_t)left : CHUNK);
        for (size_t i = 0; i < count; i++) {
            put_plain(document, *between);
            if (make_room(document, size_of_event(&events[i])))
                put_event(&document->out, &events[i], ring);
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
    struct document document = {.out = {.fd = -1}};
    char end[64];
    const char *between = "";
    uint64_t lost = 0, gone[RINGS] = {0};
    put_plain(&document, "{\"events\":[");
    for (uint32_t ring = 0; ring < RINGS; ring++) {
        if (core != ALL_CORES && core != ring)
            continue;
        gone[ring] = rings_take_lost(ring);
        lost += gone[ring];
        gone[ring] += write_ring(&document, ring, max, &between);
    }
    if (lost > 0)
        snprintf(end, sizeof end, "],\"data_version\":2,\"lost_events\":%llu}",
                 (unsigned long long)lost);
    else
        snprintf(end, sizeof end, "],\"data_version\":2}");
    put_plain(&document, end);
    if (document.failed) {
        for (uint32_t ring = 0; ring < RINGS; ring++)
            rings_add_lost(ring, gone[ring]);
        free(document.out.data);
        return NRT_RESOURCE;
    }
    document.out.data[document.out.size] = '\0';
    *buffer = document.out.data;
    *written_size = document.out.size;
    return NRT_SUCCESS;
}

void nrt_sys_trace_buffer_free(char *buffer)
{
    free(buffer);
}
