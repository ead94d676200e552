/*
 * nrt_sys_trace.h: the runtime's events, kept in memory and fetched as JSON.
 *
 * Between start and stop every enabled NeuronCore has a ring of events; when it is full the oldest
 * are overwritten. Fetching removes events from the rings:
 *
 *     {"events": [{"event_type": "nrt_execute", "phase": "start", "tracking_id": 7, "nc_idx": 0,
 *                  "timestamp_ns": 1700000000000000000, "data": {"model_id": 1}}, ...],
 *      "data_version": 2}
 *
 * Events without a core have no "nc_idx", instant events no "phase". If events were lost since the
 * last fetch, "lost_events" is their number. All functions are thread-safe, but one configuration
 * must be used by one thread at a time.
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

/* Sets the defaults: all visible cores, all types and 1,000,000 events per core, unless the
 * variables NEURON_RT_INSPECT_EVENT_FILTER_NC, NEURON_RT_INSPECT_EVENT_FILTER_TYPE and
 * NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC say otherwise. */
NRT_STATUS nrt_sys_trace_config_allocate(nrt_sys_trace_config_t **options);
void nrt_sys_trace_config_set_defaults(nrt_sys_trace_config_t *options);
void nrt_sys_trace_config_free(nrt_sys_trace_config_t *options);

void nrt_sys_trace_config_set_max_events_per_nc(nrt_sys_trace_config_t *options,
                                                uint64_t max_events_per_nc);
/* A core that is not enabled has no ring. */
void nrt_sys_trace_config_set_capture_enabled_for_nc(nrt_sys_trace_config_t *options,
                                                     uint32_t nc_idx, bool enabled);
/* NRT_INVALID for an unknown type. */
NRT_STATUS nrt_sys_trace_config_set_capture_enabled_for_event_type(nrt_sys_trace_config_t *options,
                                                                   const char *event_type,
                                                                   bool enabled);

/* All types, and the enabled ones. The caller owns the array and its texts, and releases them with
 * nrt_sys_trace_free_event_types or free(). */
NRT_STATUS nrt_sys_trace_get_event_types(const char ***event_types, size_t *count);
NRT_STATUS nrt_sys_trace_config_get_enabled_event_types(nrt_sys_trace_config_t *options,
                                                        const char ***event_types, size_t *count);
void nrt_sys_trace_free_event_types(const char **event_types, size_t count);

/* ---- Capturing ----------------------------------------------------------------------------- */

/* NRT_RESOURCE when the rings cannot be allocated, NRT_FAILURE when a trace is running. */
NRT_STATUS nrt_sys_trace_start(nrt_sys_trace_config_t *options);
/* Discards what was not fetched. NRT_UNINITIALIZED when no trace is running. */
NRT_STATUS nrt_sys_trace_stop(void);

/* ---- Fetching ------------------------------------------------------------------------------ */

/* Sets the defaults: all events of all cores. */
NRT_STATUS nrt_sys_trace_fetch_options_allocate(nrt_sys_trace_fetch_options_t **options);
void nrt_sys_trace_fetch_options_set_defaults(nrt_sys_trace_fetch_options_t *options);
void nrt_sys_trace_fetch_options_free(nrt_sys_trace_fetch_options_t *options);
/* 0: no limit. */
void nrt_sys_trace_fetch_options_set_max_events_per_nc(nrt_sys_trace_fetch_options_t *options,
                                                       uint64_t max_events_per_nc);
void nrt_sys_trace_fetch_options_set_nc_idx(nrt_sys_trace_fetch_options_t *options,
                                            uint64_t nc_idx);

/* The events, oldest first within a core, as a NUL-terminated string; *written_size excludes the
 * NUL. options may be NULL. NRT_UNINITIALIZED when no trace is running. */
NRT_STATUS nrt_sys_trace_fetch_events(char **buffer, size_t *written_size,
                                      const nrt_sys_trace_fetch_options_t *options);
void nrt_sys_trace_buffer_free(char *buffer);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
