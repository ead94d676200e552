/*
 * nrt_profile.h: profiles that the runtime writes to files. A session ("inspect") holds what the
 * program and the runtime did, CPUs and memory; profiles of devices hold what a model did on its
 * core, for one model or for all of them.
 *
 * Functions return NRT_INVALID for arguments that make no sense and NRT_RESOURCE when there is no
 * memory. What needs a device returns NRT_FAILURE, after one line on standard error, as long as
 * no device executes models.
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

/* ---- The device's profile of one model ----------------------------------------------------- */

/* From the next execution of the model to the stop, which names the same file. */
NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename);
NRT_STATUS nrt_profile_stop(const char *filename);

/* ---- Of every model, written when it is asked for ------------------------------------------ */

NRT_STATUS nrt_profile_continuous_options_allocate(nrt_profile_continuous_options_t **options);
NRT_STATUS nrt_profile_continuous_options_free(nrt_profile_continuous_options_t *options);
/* "./output" unless set; the text is copied. */
NRT_STATUS
nrt_profile_continuous_options_set_output_dir(nrt_profile_continuous_options_t *options,
                                              const char *output_dir);
/* Not while a session takes profiles of devices. */
NRT_STATUS nrt_profile_continuous_start(nrt_profile_continuous_options_t *options);
/* Of the last model that core ran; profiling goes on. */
NRT_STATUS nrt_profile_continuous_save(uint32_t vnc, nrt_profile_continuous_options_t *options);
NRT_STATUS nrt_profile_continuous_stop(void);

/* ---- Sessions ------------------------------------------------------------------------------ */

/* As the variables NEURON_RT_INSPECT_* say, and nothing else. */
NRT_STATUS nrt_inspect_begin(void);
/* As the configuration says, and no variable; NULL: the defaults. */
NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *options);
/* Writes the files. NRT_UNINITIALIZED when nothing was begun. */
NRT_STATUS nrt_inspect_stop(void);

/* Defaults: session 1, "./output", all activities, cores and event types, 1,000,000 events a core;
 * but neither inspect nor inspect_on_fail is enabled, and without one of them nothing is
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
 * Arrays and their texts are the caller's, as those of event types are. */
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
