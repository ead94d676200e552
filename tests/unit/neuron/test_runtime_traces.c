/*
 * The runtime used rightly: debug streams, traces and profiles.
 */
#include "runtime_tests.h"

#include <nrt/ndebug_stream.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_profile.h>

#define FOREIGN_MODEL ((nrt_model_t *)(void *)state)

TEST(a_core_has_one_debug_client)
{
    int fd, other;
    void *payload;
    ndebug_stream_event_header_t header;
    OK(nrt_debug_client_connect(0, &fd));
    assert_int_equal(nrt_debug_client_connect(0, &other), NRT_RESOURCE);
    assert_int_equal(nrt_debug_client_read_one_event(fd, &header, &payload), NRT_QUEUE_EMPTY);
    nrt_debug_client_connect_close(fd);
    OK(nrt_debug_client_connect(0, &fd));
    nrt_debug_client_connect_close(fd);
}

static size_t occurrences(const char *text, const char *word)
{
    size_t count = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        count++;
    return count;
}

TEST(executions_are_traced)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct loaded all = load_small(neff, 3);
    struct scratch_name path = scratch_name(state, "trace.json");
    OK(nrt_trace_start(true));
    write_input(&all, 0);
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    OK(nrt_trace_stop(path.path));
    size_t size;
    char *text = read_whole_file(path.path, &size);
    static const struct {
        const char *type;
        size_t count;
    } expected[] = {{"nrt_execute", 4},      {"nrt_model_submit", 4},    {"kbl_exec_pre", 4},
                    {"kmgr_exec_core", 4},   {"kbl_exec_wait", 4},       {"kbl_exec_post", 4},
                    {"nc_exec_running", 4},  {"nrt_tensor_write", 2},    {"dmem_buf_copyin", 2},
                    {"nrt_model_switch", 1}, {"timestamp_sync_point", 2}};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        char word[64];
        snprintf(word, sizeof word, "\"event_type\":\"%s\"", expected[i].type);
        if (occurrences(text, word) != expected[i].count)
            fail_msg("%s: %zu events", expected[i].type, occurrences(text, word));
    }
    assert_int_equal(occurrences(text, "\"nc_idx\":3"), occurrences(text, "\"nc_idx\""));
    assert_int_equal(nrt_trace_stop(path.path), NRT_UNINITIALIZED);
    free(text);
    unload_small(&all);
    free(neff.bytes);
}

TEST(profiles_of_models_are_files)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct loaded a = load_small(neff, 0), b = load_small(neff, 1);
    struct scratch_name first = scratch_name(state, "a.ntff"), second = scratch_name(state, "b.x");
    OK(nrt_profile_start(a.model, first.path));
    assert_int_equal(nrt_profile_start(a.model, second.path), NRT_FAILURE);
    assert_int_equal(nrt_profile_start(b.model, first.path), NRT_FAILURE);
    assert_int_equal(nrt_profile_start(FOREIGN_MODEL, second.path), NRT_INVALID_HANDLE);
    OK(nrt_profile_start(b.model, second.path));
    assert_int_equal(nrt_profile_stop("other"), NRT_INVALID);
    for (int i = 0; i < 3; i++)
        OK(nrt_execute(a.model, a.inputs, a.outputs));
    OK(nrt_execute(b.model, b.inputs, b.outputs));
    OK(nrt_profile_stop(first.path));
    OK(nrt_execute(a.model, a.inputs, a.outputs));
    OK(nrt_profile_stop(second.path));
    assert_int_equal(nrt_profile_stop(second.path), NRT_UNINITIALIZED);
    assert_profile(first.path, 1, 3);
    assert_profile(second.path, 1, 1);
    assert_int_equal(nrt_profile_start(a.model, "/nowhere/a.ntff"), NRT_FAILURE);
    OK(nrt_profile_start(a.model, first.path)); /* truncates */
    OK(nrt_execute(a.model, a.inputs, a.outputs));
    nrt_close();
    assert_profile(first.path, 5, 1);
    assert_int_equal(nrt_profile_stop(first.path), NRT_CLOSED);
    free(neff.bytes);
}

TEST(continuous_profiles_are_saved_on_request)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct loaded all = load_small(neff, 2);
    struct scratch_name output = scratch_name(state, "output");
    nrt_profile_continuous_options_t *options;
    OK(nrt_profile_continuous_options_allocate(&options));
    OK(nrt_profile_continuous_options_set_output_dir(options, output.path));
    OK(nrt_profile_continuous_start(options));
    assert_int_equal(nrt_profile_continuous_save(2, options), NRT_FAILURE); /* nothing ran */
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    OK(nrt_profile_continuous_save(2, options));
    OK(nrt_profile_continuous_save(2, options));
    assert_int_equal(nrt_profile_continuous_save(8, options), NRT_INVALID);
    OK(nrt_profile_continuous_stop());
    OK(nrt_profile_continuous_options_free(options));
    unsigned profiles = 0, neffs = 0;
    DIR *folder = opendir(output.path);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", output.path, entry->d_name);
        neffs += strncmp(entry->d_name, "neff_", 5) == 0;
        if (!strstr(entry->d_name, "_vnc_2.ntff"))
            continue;
        assert_profile(path, 2, 1);
        profiles++;
    }
    closedir(folder);
    assert_int_equal(profiles, 2);
    assert_int_equal(neffs, 1);
    unload_small(&all);
    free(neff.bytes);
}

/* The file of a session's core, in the only directory of the session. */
static void session_file(char path[static 1024], const char *output, const char *name)
{
    DIR *folder = opendir(output);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (strstr(entry->d_name, "_pid_"))
            snprintf(path, 1024, "%s/%s/%s", output, entry->d_name, name);
    closedir(folder);
}

TEST(the_file_of_a_session_names_all_models)
{
    static const uint32_t used[] = {0, 0, 1, 0, 1};
    struct small_neff one = small_neff((struct small_options){.alu = ALU_ADD, .name = "one"});
    struct small_neff two = small_neff((struct small_options){.alu = ALU_MULTIPLY, .name = "two"});
    struct loaded models[] = {load_small(one, 2), load_small(two, 2)};
    struct scratch_name output = scratch_name(state, "output");
    struct error err;
    char path[1024] = "";
    size_t count;
    setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
    setenv("NEURON_RT_INSPECT_DEVICE_PROFILE", "session", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", output.path, 1);
    OK(nrt_inspect_begin());
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        OK(nrt_execute(models[used[i]].model, models[used[i]].inputs, models[used[i]].outputs));
    OK(nrt_inspect_stop());
    unsetenv("NEURON_RT_INSPECT_ENABLE");
    unsetenv("NEURON_RT_INSPECT_DEVICE_PROFILE");
    unsetenv("NEURON_RT_INSPECT_OUTPUT_DIR");
    session_file(path, output.path, "profile_nc_2_session_1.ntff");
    assert_profile(path, 1, sizeof used / sizeof *used);
    struct ntff *ntff = ntff_open(path, &err);
    assert_non_null(ntff);
    const struct ntff_neff *neffs = ntff_neffs(ntff, &count);
    assert_int_equal(count, 2);
    assert_string_equal(neffs[0].name, "one");
    assert_string_equal(neffs[1].name, "two");
    assert_true(memcmp(neffs[0].uuid, neffs[1].uuid, sizeof neffs->uuid) != 0);
    const struct ntff_execution *executions = ntff_executions(ntff, &count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(executions[i].neff, used[i]);
    ntff_close(ntff);
    for (size_t i = 0; i < 2; i++)
        unload_small(&models[i]);
    free(one.bytes);
    free(two.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNTIME_TEST(a_core_has_one_debug_client),
        RUNTIME_TEST(executions_are_traced),
        RUNTIME_TEST(profiles_of_models_are_files),
        RUNTIME_TEST(continuous_profiles_are_saved_on_request),
        RUNTIME_TEST(the_file_of_a_session_names_all_models),
    };
    return cmocka_run_group_tests_name("runtime_traces", tests, NULL, NULL);
}
