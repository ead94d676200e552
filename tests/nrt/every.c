/*
 * Calls every function of the library once and more, as it should and as it should not be called,
 * and says where one returned something else than is documented. The first argument is a directory.
 */
#include <nrt/nrt_profile.h>
#include <nrt/nrt_status.h>
#include <nrt/nrt_sys_trace.h>
#include <nrt/nrt_version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s\n", __LINE__, #condition);                                         \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

static void sys_trace(void)
{
    nrt_sys_trace_config_t *config = NULL;
    nrt_sys_trace_fetch_options_t *options = NULL;
    const char **types = NULL;
    size_t count = 0, size = 0, enabled = 0;
    char *text = NULL;
    CHECK(nrt_sys_trace_config_allocate(NULL) == NRT_INVALID);
    CHECK(nrt_sys_trace_config_allocate(&config) == NRT_SUCCESS && config);
    nrt_sys_trace_config_set_defaults(NULL);
    nrt_sys_trace_config_set_defaults(config);
    nrt_sys_trace_config_set_max_events_per_nc(NULL, 1);
    nrt_sys_trace_config_set_max_events_per_nc(config, 0);
    CHECK(nrt_sys_trace_start(config) == NRT_INVALID);
    nrt_sys_trace_config_set_max_events_per_nc(config, UINT64_MAX);
    CHECK(nrt_sys_trace_start(config) == NRT_RESOURCE);
    nrt_sys_trace_config_set_max_events_per_nc(config, 1000);
    nrt_sys_trace_config_set_capture_enabled_for_nc(NULL, 0, true);
    nrt_sys_trace_config_set_capture_enabled_for_nc(config, 1u << 31, true);
    nrt_sys_trace_config_set_capture_enabled_for_nc(config, 3, false);

    CHECK(nrt_sys_trace_get_event_types(NULL, &count) == NRT_INVALID);
    CHECK(nrt_sys_trace_get_event_types(&types, NULL) == NRT_INVALID);
    CHECK(nrt_sys_trace_get_event_types(&types, &count) == NRT_SUCCESS && count == 30);
    for (size_t i = 0; i < count; i++) {
        CHECK(nrt_sys_trace_config_set_capture_enabled_for_event_type(config, types[i], i % 2) ==
              NRT_SUCCESS);
    }
    nrt_sys_trace_free_event_types(types, count);
    nrt_sys_trace_free_event_types(NULL, 0);
    CHECK(nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "no_such", true) ==
          NRT_INVALID);
    CHECK(nrt_sys_trace_config_set_capture_enabled_for_event_type(config, NULL, true) ==
          NRT_INVALID);
    CHECK(nrt_sys_trace_config_set_capture_enabled_for_event_type(NULL, "nrt_load", true) ==
          NRT_INVALID);
    CHECK(nrt_sys_trace_config_get_enabled_event_types(NULL, &types, &enabled) == NRT_INVALID);
    CHECK(nrt_sys_trace_config_get_enabled_event_types(config, &types, &enabled) == NRT_SUCCESS);
    CHECK(enabled == count / 2);
    nrt_sys_trace_free_event_types(types, enabled);

    CHECK(nrt_sys_trace_fetch_events(&text, &size, NULL) == NRT_UNINITIALIZED);
    CHECK(nrt_sys_trace_stop() == NRT_UNINITIALIZED);
    CHECK(nrt_sys_trace_start(NULL) == NRT_INVALID);
    CHECK(nrt_sys_trace_start(config) == NRT_SUCCESS);
    CHECK(nrt_sys_trace_start(config) == NRT_FAILURE);
    CHECK(nrt_sys_trace_fetch_options_allocate(NULL) == NRT_INVALID);
    CHECK(nrt_sys_trace_fetch_options_allocate(&options) == NRT_SUCCESS);
    nrt_sys_trace_fetch_options_set_defaults(NULL);
    nrt_sys_trace_fetch_options_set_defaults(options);
    nrt_sys_trace_fetch_options_set_max_events_per_nc(NULL, 1);
    nrt_sys_trace_fetch_options_set_max_events_per_nc(options, 10);
    nrt_sys_trace_fetch_options_set_nc_idx(NULL, 0);
    nrt_sys_trace_fetch_options_set_nc_idx(options, 100000);
    CHECK(nrt_sys_trace_fetch_events(&text, &size, options) == NRT_INVALID);
    nrt_sys_trace_fetch_options_set_nc_idx(options, 0);
    CHECK(nrt_sys_trace_fetch_events(NULL, &size, options) == NRT_INVALID);
    CHECK(nrt_sys_trace_fetch_events(&text, NULL, options) == NRT_INVALID);
    CHECK(nrt_sys_trace_fetch_events(&text, &size, options) == NRT_SUCCESS);
    CHECK(strcmp(text, "{\"events\":[],\"data_version\":2}") == 0 && size == strlen(text));
    nrt_sys_trace_buffer_free(text);
    nrt_sys_trace_buffer_free(NULL);
    nrt_sys_trace_fetch_options_free(options);
    nrt_sys_trace_fetch_options_free(NULL);
    CHECK(nrt_sys_trace_stop() == NRT_SUCCESS);
    CHECK(nrt_sys_trace_stop() == NRT_UNINITIALIZED);
    nrt_sys_trace_config_free(config);
    nrt_sys_trace_config_free(NULL);
}

static void device_profiles(const char *directory)
{
    char file[4096];
    int something;
    nrt_model_t *model = (nrt_model_t *)(void *)&something;
    nrt_profile_continuous_options_t *options;
    snprintf(file, sizeof file, "%s/model.ntff", directory);
    CHECK(nrt_profile_start(NULL, file) == NRT_INVALID);
    CHECK(nrt_profile_start(model, NULL) == NRT_INVALID);
    CHECK(nrt_profile_start(model, "") == NRT_INVALID);
    CHECK(nrt_profile_start(model, file) == NRT_UNINITIALIZED);
    CHECK(nrt_profile_stop(NULL) == NRT_INVALID);
    CHECK(nrt_profile_stop(file) == NRT_UNINITIALIZED);
    CHECK(nrt_profile_continuous_options_allocate(NULL) == NRT_INVALID);
    CHECK(nrt_profile_continuous_options_allocate(&options) == NRT_SUCCESS);
    CHECK(nrt_profile_continuous_options_set_output_dir(options, NULL) == NRT_INVALID);
    CHECK(nrt_profile_continuous_options_set_output_dir(NULL, "x") == NRT_INVALID);
    CHECK(nrt_profile_continuous_options_set_output_dir(options, directory) == NRT_SUCCESS);
    CHECK(nrt_profile_continuous_options_set_output_dir(options, directory) == NRT_SUCCESS);
    CHECK(nrt_profile_continuous_start(NULL) == NRT_INVALID);
    CHECK(nrt_profile_continuous_start(options) == NRT_UNINITIALIZED);
    CHECK(nrt_profile_continuous_save(0, NULL) == NRT_INVALID);
    CHECK(nrt_profile_continuous_save(1000, options) == NRT_INVALID);
    CHECK(nrt_profile_continuous_save(0, options) == NRT_UNINITIALIZED);
    CHECK(nrt_profile_continuous_stop() == NRT_UNINITIALIZED);
    CHECK(nrt_profile_continuous_options_free(options) == NRT_SUCCESS);
    CHECK(nrt_profile_continuous_options_free(NULL) == NRT_INVALID);
}

static size_t enabled_activities(nrt_inspect_config_t *config)
{
    const char **activities;
    size_t count;
    if (nrt_inspect_config_get_enabled_activity_types(config, &activities, &count) != NRT_SUCCESS)
        return 99;
    nrt_inspect_config_free_activity_types(activities, count);
    return count;
}

static void inspect(const char *directory)
{
    nrt_inspect_config_t *config = NULL;
    const char **activities;
    size_t count;
    CHECK(nrt_inspect_config_allocate(NULL) == NRT_INVALID);
    CHECK(nrt_inspect_config_allocate(&config) == NRT_SUCCESS);
    CHECK(nrt_inspect_config_set_defaults(NULL) == NRT_INVALID);
    CHECK(nrt_inspect_config_set_session_id(config, 7) == NRT_SUCCESS);
    CHECK(nrt_inspect_config_set_session_id(config, -1) == NRT_INVALID);
    CHECK(nrt_inspect_config_set_session_id(NULL, 7) == NRT_INVALID);
    CHECK(nrt_inspect_config_set_output_dir(config, NULL) == NRT_INVALID);
    CHECK(nrt_inspect_config_set_output_dir(config, "/nowhere") == NRT_SUCCESS);
    CHECK(nrt_inspect_config_set_defaults(config) == NRT_SUCCESS);
    CHECK(nrt_inspect_config_set_output_dir(config, directory) == NRT_SUCCESS);
    CHECK(nrt_inspect_config_set_sys_trace_max_events_per_nc(config, 0) == NRT_INVALID);
    CHECK(nrt_inspect_config_set_sys_trace_max_events_per_nc(NULL, 1) == NRT_INVALID);
    CHECK(nrt_inspect_config_set_sys_trace_max_events_per_nc(config, 5000) == NRT_SUCCESS);
    CHECK(nrt_inspect_config_set_capture_enabled_for_nc(config, 1000, true) == NRT_INVALID);
    CHECK(nrt_inspect_config_set_capture_enabled_for_nc(NULL, 0, true) == NRT_INVALID);
    CHECK(nrt_inspect_config_set_capture_enabled_for_nc(config, 1, false) == NRT_SUCCESS);
    CHECK(nrt_inspect_config_set_capture_enabled_for_event_type_string(config, "device_exec",
                                                                       false) == NRT_SUCCESS);
    CHECK(nrt_inspect_config_set_capture_enabled_for_event_type_string(config, "bad", false) ==
          NRT_INVALID);
    CHECK(nrt_inspect_config_set_capture_enabled_for_event_type_string(config, NULL, false) ==
          NRT_INVALID);
    CHECK(nrt_inspect_config_set_enable_inspect(NULL, true) == NRT_INVALID);
    CHECK(nrt_inspect_config_set_enable_inspect_on_fail(NULL, true) == NRT_INVALID);
    CHECK(nrt_inspect_config_set_enable_inspect_on_fail(config, false) == NRT_SUCCESS);

    CHECK(nrt_inspect_config_get_all_activity_types(NULL, &count) == NRT_INVALID);
    CHECK(nrt_inspect_config_get_all_activity_types(&activities, &count) == NRT_SUCCESS);
    CHECK(count == 4 && strcmp(activities[0], "system_profile") == 0);
    nrt_inspect_config_free_activity_types(activities, count);
    CHECK(nrt_inspect_config_get_enabled_activity_types(NULL, &activities, &count) == NRT_INVALID);
    CHECK(enabled_activities(config) == 4);
    CHECK(nrt_inspect_config_set_activity(config, "all", false) == NRT_SUCCESS);
    CHECK(enabled_activities(config) == 0);
    CHECK(nrt_inspect_config_set_activity(config, "system_profile", true) == NRT_SUCCESS);
    CHECK(nrt_inspect_config_set_activity(config, "cpu_util", true) == NRT_SUCCESS);
    CHECK(nrt_inspect_config_set_activity(config, "nothing", true) == NRT_INVALID);
    CHECK(nrt_inspect_config_set_activity(config, NULL, true) == NRT_INVALID);
    CHECK(enabled_activities(config) == 2);

    CHECK(nrt_inspect_stop() == NRT_UNINITIALIZED);
    CHECK(nrt_inspect_begin_with_options(NULL) == NRT_SUCCESS); /* captures nothing */
    CHECK(nrt_inspect_begin() == NRT_FAILURE);
    CHECK(nrt_inspect_stop() == NRT_SUCCESS);
    CHECK(nrt_inspect_begin() == NRT_SUCCESS); /* neither, without its variable */
    CHECK(nrt_inspect_stop() == NRT_SUCCESS);
    CHECK(nrt_inspect_config_set_enable_inspect(config, true) == NRT_SUCCESS);
    CHECK(nrt_inspect_begin_with_options(config) == NRT_SUCCESS);
    CHECK(nrt_inspect_begin_with_options(config) == NRT_FAILURE);
    CHECK(nrt_inspect_config_free(config) == NRT_SUCCESS);
    CHECK(nrt_inspect_config_free(NULL) == NRT_INVALID);
    CHECK(nrt_inspect_stop() == NRT_SUCCESS);
    CHECK(nrt_inspect_stop() == NRT_UNINITIALIZED);
}

int main(int argc, char **argv)
{
    nrt_version_t version;
    if (argc < 2)
        return 2;
    CHECK(strcmp(nrt_get_status_as_str(NRT_SUCCESS), "NRT_SUCCESS") == 0);
    CHECK(strcmp(nrt_get_status_as_str(NRT_EXEC_SW_NQ_OVERFLOW), "NRT_EXEC_SW_NQ_OVERFLOW") == 0);
    CHECK(strcmp(nrt_get_status_as_str((NRT_STATUS)8), "NRT_UNKNOWN") == 0);
    memset(&version, 0x55, sizeof version);
    CHECK(nrt_get_version(NULL, sizeof version) == NRT_INVALID);
    CHECK(nrt_get_version(&version, 0) == NRT_INVALID);
    CHECK(nrt_get_version(&version, 16) == NRT_SUCCESS && version.rt_patch == 0x5555555555555555u);
    CHECK(nrt_get_version(&version, sizeof version) == NRT_SUCCESS && version.rt_major == 2);
    sys_trace();
    device_profiles(argv[1]);
    inspect(argv[1]);
    return wrong ? 1 : 0;
}
