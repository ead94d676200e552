/*
 * nrt_profile.h: profiles that the runtime writes to files. A session ("inspect") records the
 * program's and the runtime's events, CPU and memory usage; device profiles record the execution of
 * one model, or of all, on its core.
 *
 * Functions return NRT_INVALID for invalid arguments and NRT_RESOURCE when out of memory. Those
 * that need a device return NRT_FAILURE, after one line on standard error, when no device executes
 * models.
 */
#ifndef NRT_NRT_PROFILE_H
#define NRT_NRT_PROFILE_H

#include <nrt/nrt_status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct nrt_model nrt_model_t;
typedef struct nrt_profile_continuous_options nrt_profile_continuous_options_t;
typedef struct nrt_inspect_config nrt_inspect_config_t;

/* ---- Device profile of one model ---------------------------------------------------------- */

/* From the next execution of the model until the stop, which names the same file. */
NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename);
NRT_STATUS nrt_profile_stop(const char *filename);

/* ---- Device profiles of all models, written on request ------------------------------------- */

NRT_STATUS nrt_profile_continuous_options_allocate(nrt_profile_continuous_options_t **options);
NRT_STATUS nrt_profile_continuous_options_free(nrt_profile_continuous_options_t *options);
/* The default is "./output"; the text is copied. */
NRT_STATUS
nrt_profile_continuous_options_set_output_dir(nrt_profile_continuous_options_t *options,
                                              const char *output_dir);
/* Fails while a session takes device profiles. */
NRT_STATUS nrt_profile_continuous_start(nrt_profile_continuous_options_t *options);
/* Writes the profile of the last model that ran on the core; profiling continues. */
NRT_STATUS nrt_profile_continuous_save(uint32_t vnc, nrt_profile_continuous_options_t *options);
NRT_STATUS nrt_profile_continuous_stop(void);

/* ---- Sessions ------------------------------------------------------------------------------ */

/* Configured by the variables NEURON_RT_INSPECT_* only. */
NRT_STATUS nrt_inspect_begin(void);
/* Configured by the argument only, not by variables; NULL: the defaults. */
NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *options);
/* Writes the files. NRT_UNINITIALIZED when no session was begun. */
NRT_STATUS nrt_inspect_stop(void);

/* Defaults: session 1, "./output", all activities, cores and event types, 1,000,000 events per
 * core; neither inspect nor inspect_on_fail is enabled, and without one of them nothing is
 * captured. */
NRT_STATUS nrt_inspect_config_allocate(nrt_inspect_config_t **options);
NRT_STATUS nrt_inspect_config_set_defaults(nrt_inspect_config_t *options);
NRT_STATUS nrt_inspect_config_free(nrt_inspect_config_t *options);
NRT_STATUS nrt_inspect_config_set_session_id(nrt_inspect_config_t *options, int session_id);
/* The text is copied. */
NRT_STATUS nrt_inspect_config_set_output_dir(nrt_inspect_config_t *options, const char *output_dir);
NRT_STATUS nrt_inspect_config_set_sys_trace_max_events_per_nc(nrt_inspect_config_t *options,
                                                              uint64_t sys_trace_max_events_per_nc);
NRT_STATUS nrt_inspect_config_set_capture_enabled_for_nc(nrt_inspect_config_t *options,
                                                         uint32_t nc_idx, bool enabled);
NRT_STATUS
nrt_inspect_config_set_capture_enabled_for_event_type_string(nrt_inspect_config_t *options,
                                                             const char *event_type, bool enabled);
NRT_STATUS nrt_inspect_config_set_enable_inspect(nrt_inspect_config_t *options,
                                                 bool enable_inspect);
NRT_STATUS nrt_inspect_config_set_enable_inspect_on_fail(nrt_inspect_config_t *options,
                                                         bool enable_inspect_on_fail);

/* Activities: "system_profile", "device_profile", "host_memory", "cpu_util"; "all" sets all four.
 * The caller owns the returned arrays and their texts, as with event types. */
NRT_STATUS nrt_inspect_config_set_activity(nrt_inspect_config_t *options, const char *activity_type,
                                           bool enabled);
NRT_STATUS nrt_inspect_config_get_all_activity_types(const char ***activity_types, size_t *count);
NRT_STATUS nrt_inspect_config_get_enabled_activity_types(nrt_inspect_config_t *options,
                                                         const char ***activity_types,
                                                         size_t *count);
void nrt_inspect_config_free_activity_types(const char **activity_types, size_t count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
