/*
 * nrt_sys_trace.h: the runtime's events, kept in memory and fetched as JSON.
 *
 * Between start and stop every NeuronCore that is enabled has a ring of events; when it is full the
 * oldest go. Fetching takes events out of the rings:
 *
 *     {"events": [{"event_type": "nrt_execute", "phase": "start", "tracking_id": 7, "nc_idx": 0,
 *                  "timestamp_ns": 1700000000000000000, "data": {"model_id": 1}}, ...],
 *      "data_version": 2}
 *
 * Events that belong to no core have no "nc_idx", events that are moments no "phase". Where events
 * were lost since the last fetch, "lost_events" says how many. Every function may be called from
 * any thread; one configuration is used by one thread at a time.
 */
#ifndef NRT_NRT_SYS_TRACE_H
#define NRT_NRT_SYS_TRACE_H

#include <nrt/nrt_status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct nrt_sys_trace_config nrt_sys_trace_config_t;
typedef struct nrt_sys_trace_fetch_options nrt_sys_trace_fetch_options_t;

/* ---- What to capture ----------------------------------------------------------------------- */

/* With the defaults: all visible cores, all types and 1,000,000 events a core, as far as the
 * variables NEURON_RT_INSPECT_EVENT_FILTER_NC, NEURON_RT_INSPECT_EVENT_FILTER_TYPE and
 * NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC say nothing else. */
NRT_STATUS nrt_sys_trace_config_allocate(nrt_sys_trace_config_t **options);
void nrt_sys_trace_config_set_defaults(nrt_sys_trace_config_t *options);
void nrt_sys_trace_config_free(nrt_sys_trace_config_t *options);

void nrt_sys_trace_config_set_max_events_per_nc(nrt_sys_trace_config_t *options,
                                                uint64_t max_events_per_nc);
/* A core that is not enabled has no ring. */
void nrt_sys_trace_config_set_capture_enabled_for_nc(nrt_sys_trace_config_t *options,
                                                     uint32_t nc_idx, bool enabled);
/* NRT_INVALID for a type that does not exist. */
NRT_STATUS nrt_sys_trace_config_set_capture_enabled_for_event_type(nrt_sys_trace_config_t *options,
                                                                   const char *event_type,
                                                                   bool enabled);

/* The types there are, and those that are enabled. The array and its texts are the caller's, to be
 * given to nrt_sys_trace_free_event_types or to free(). */
NRT_STATUS nrt_sys_trace_get_event_types(const char ***event_types, size_t *count);
NRT_STATUS nrt_sys_trace_config_get_enabled_event_types(nrt_sys_trace_config_t *options,
                                                        const char ***event_types, size_t *count);
void nrt_sys_trace_free_event_types(const char **event_types, size_t count);

/* ---- Capturing ----------------------------------------------------------------------------- */

/* NRT_RESOURCE when there is no room for the rings, NRT_FAILURE when a trace is running. */
NRT_STATUS nrt_sys_trace_start(nrt_sys_trace_config_t *options);
/* What was not fetched is gone. NRT_UNINITIALIZED when no trace is running. */
NRT_STATUS nrt_sys_trace_stop(void);

/* ---- Fetching ------------------------------------------------------------------------------ */

/* With the defaults: all events of all cores. */
NRT_STATUS nrt_sys_trace_fetch_options_allocate(nrt_sys_trace_fetch_options_t **options);
void nrt_sys_trace_fetch_options_set_defaults(nrt_sys_trace_fetch_options_t *options);
void nrt_sys_trace_fetch_options_free(nrt_sys_trace_fetch_options_t *options);
/* 0: no limit. */
void nrt_sys_trace_fetch_options_set_max_events_per_nc(nrt_sys_trace_fetch_options_t *options,
                                                       uint64_t max_events_per_nc);
void nrt_sys_trace_fetch_options_set_nc_idx(nrt_sys_trace_fetch_options_t *options,
                                            uint64_t nc_idx);

/* The events, oldest first within a core, as text that ends with a NUL; *written_size does not
 * count it. options may be NULL. NRT_UNINITIALIZED when no trace is running. */
NRT_STATUS nrt_sys_trace_fetch_events(char **buffer, size_t *written_size,
                                      const nrt_sys_trace_fetch_options_t *options);
void nrt_sys_trace_buffer_free(char *buffer);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
