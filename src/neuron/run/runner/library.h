/*
 * The functions of a runtime library.
 */
#ifndef KYMO_NEURON_RUN_RUNNER_LIBRARY_H
#define KYMO_NEURON_RUN_RUNNER_LIBRARY_H

#include "base/base.h"

#include <nrt/nrt.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_profile.h>
#include <nrt/nrt_sys_trace.h>

/* NEEDED ones must be there. */
#define RUNTIME_FUNCTIONS(NEEDED, OPTIONAL)                                                        \
    NEEDED(nrt_init)                                                                               \
    NEEDED(nrt_close)                                                                              \
    NEEDED(nrt_load)                                                                               \
    NEEDED(nrt_load_collectives)                                                                   \
    NEEDED(nrt_unload)                                                                             \
    NEEDED(nrt_execute)                                                                            \
    NEEDED(nrt_get_status_as_str)                                                                  \
    NEEDED(nrt_allocate_tensor_set)                                                                \
    NEEDED(nrt_destroy_tensor_set)                                                                 \
    NEEDED(nrt_add_tensor_to_tensor_set)                                                           \
    NEEDED(nrt_tensor_allocate)                                                                    \
    NEEDED(nrt_tensor_allocate_slice)                                                              \
    NEEDED(nrt_tensor_free)                                                                        \
    NEEDED(nrt_tensor_read)                                                                        \
    NEEDED(nrt_tensor_write)                                                                       \
    NEEDED(nrt_get_model_tensor_info)                                                              \
    NEEDED(nrt_free_model_tensor_info)                                                             \
    OPTIONAL(nrt_barrier)                                                                          \
    OPTIONAL(nrt_profile_start)                                                                    \
    OPTIONAL(nrt_profile_stop)                                                                     \
    OPTIONAL(nrta_execute_schedule)                                                                \
    OPTIONAL(nrta_is_completed)                                                                    \
    OPTIONAL(nrta_error_tracker_create)                                                            \
    OPTIONAL(nrta_error_tracker_destroy)                                                           \
    OPTIONAL(nrta_error_tracker_get_list)                                                          \
    OPTIONAL(nrt_sys_trace_config_allocate)                                                        \
    OPTIONAL(nrt_sys_trace_config_free)                                                            \
    OPTIONAL(nrt_sys_trace_config_set_capture_enabled_for_nc)                                      \
    OPTIONAL(nrt_sys_trace_config_set_capture_enabled_for_event_type)                              \
    OPTIONAL(nrt_sys_trace_get_event_types)                                                        \
    OPTIONAL(nrt_sys_trace_start)                                                                  \
    OPTIONAL(nrt_sys_trace_stop)                                                                   \
    OPTIONAL(nrt_sys_trace_fetch_events)                                                           \
    OPTIONAL(nrt_sys_trace_fetch_options_allocate)                                                 \
    OPTIONAL(nrt_sys_trace_fetch_options_free)                                                     \
    OPTIONAL(nrt_sys_trace_fetch_options_set_nc_idx)                                               \
    OPTIONAL(nrt_sys_trace_buffer_free)

struct library {
    char *path;
#define RUNTIME_MEMBER(name) __typeof__(name) *name;
    RUNTIME_FUNCTIONS(RUNTIME_MEMBER, RUNTIME_MEMBER)
#undef RUNTIME_MEMBER
};

/* It stays loaded. */
bool library_open(struct library *library, const char *path, struct error *err);
void library_close(struct library *library);
/* Sets "what: NRT_STATUS" unless the status is success. */
bool library_check(const struct library *library, NRT_STATUS status, const char *what,
                   struct error *err);

#endif
