/*
 * The runtime's functions of nrt_sys_trace.h, by their names after nrt_sys_trace_.
 */
#ifndef KYMO_CAPTURE_NEURON_SYSTRACE_API_H
#define KYMO_CAPTURE_NEURON_SYSTRACE_API_H

#include "capture/events/events.h"

#include <nrt/nrt_sys_trace.h>

struct systrace_api {
    NRT_STATUS (*config_allocate)(nrt_sys_trace_config_t **options);
    void (*config_free)(nrt_sys_trace_config_t *options);
    NRT_STATUS (*start)(nrt_sys_trace_config_t *options);
    NRT_STATUS (*stop)(void);
    NRT_STATUS (*fetch_events)(char **buffer, size_t *size,
                               const nrt_sys_trace_fetch_options_t *options);
    void (*buffer_free)(char *buffer);
    /* These may be missing. */
    void (*config_set_max_events_per_nc)(nrt_sys_trace_config_t *options, uint64_t events);
    NRT_STATUS (*get_event_types)(const char ***types, size_t *count);
    void (*free_event_types)(const char **types, size_t count);
    NRT_STATUS (*fetch_options_allocate)(nrt_sys_trace_fetch_options_t **options);
    void (*fetch_options_free)(nrt_sys_trace_fetch_options_t *options);
    void (*fetch_options_set_max_events_per_nc)(nrt_sys_trace_fetch_options_t *options,
                                                uint64_t events);
};

/* False when the runtime has no trace. */
bool systrace_api_find(struct systrace_api *api);
/* Keeps the runtime loaded: its functions are called from another thread. */
void systrace_api_pin(const struct systrace_api *api);
/* The types it emits; none if it does not say. */
void systrace_api_types(const struct systrace_api *api, uint64_t types[static EVENT_TYPE_WORDS]);
/* Starts a trace of all types and cores, with rings of this many events. */
NRT_STATUS systrace_api_start(const struct systrace_api *api, uint64_t events);

#endif
