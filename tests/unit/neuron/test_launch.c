/*
 * Worker processes: what they send and how they end.
 */
#include "neuron/run/launch/launch.h"
#include "neuron/runtime/cores/cores.h"
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 5, LARGE = 300000 };

struct received {
    struct output bytes[WORKERS];
    int mode; /* of the workers */
};

static enum launch_result work(void *context, uint32_t worker, struct error *err)
{
    const struct received *received = context;
    char line[64];
    if (received->mode == 1 && worker == 3)
        return error_set(err, "worker 3 has no input"), LAUNCH_FAILED;
    if (received->mode == 2 && worker == 2)
        raise(SIGKILL);
    if (received->mode == 3 && worker == 4) {
        signal(SIGTERM, SIG_IGN);
        pause();
    }
    if (received->mode > 0)
        return error_set(err, "a rank is gone"), LAUNCH_GAVE_UP;
    snprintf(line, sizeof line, "core %s of %s at %s", getenv("NEURON_RT_VISIBLE_CORES"),
             getenv("KYMO_NEURON_JOB_CORES"), getenv("NEURON_RT_ROOT_COMM_ID"));
    launch_send(line, strlen(line) + 1);
    char *large = mem_alloc(LARGE);
    memset(large, 'a' + (int)worker, LARGE);
    launch_send(large, LARGE);
    mem_free(large);
    return LAUNCH_DONE;
}

static void receive(void *context, uint32_t worker, const void *data, size_t size)
{
    struct received *received = context;
    output_write(&received->bytes[worker], data, size);
}

static bool run(struct received *received, int mode, struct error *err)
{
    const struct launch_options launch = {.workers = WORKERS,
                                          .core_version = 2,
                                          .logical_size = 1,
                                          .work = work,
                                          .receive = receive,
                                          .context = received};
    received->mode = mode;
    for (int i = 0; i < WORKERS; i++)
        output_memory(&received->bytes[i]);
    bool ok = launch_run(&launch, err);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    unsetenv("NEURON_RT_ROOT_COMM_ID");
    return ok;
}

static void discard(struct received *received)
{
    for (int i = 0; i < WORKERS; i++)
        output_discard(&received->bytes[i]);
}

TEST(workers_have_a_core_each_and_an_address_in_common)
{
    struct received received;
    struct error err;
    char address[64] = "";
    unsigned first = 0;
    assert_true(run(&received, 0, &err));
    for (unsigned i = 0; i < WORKERS; i++) {
        const struct output *bytes = &received.bytes[i];
        unsigned core, from, to;
        char own[64];
        assert_int_equal(sscanf(bytes->data, "core %u of %u-%u at %63s", &core, &from, &to, own),
                         4);
        first = i == 0 ? core : first;
        assert_true(core == first + i && from == first && to == first + WORKERS - 1);
        assert_true(i == 0 || strcmp(own, address) == 0);
        strcpy(address, own);
        size_t line = strlen(bytes->data) + 1;
        assert_int_equal(bytes->size, line + LARGE);
        for (size_t j = line; j < bytes->size; j++)
            if (bytes->data[j] != (char)('a' + i))
                fail();
    }
    discard(&received);
}

TEST(the_error_is_that_of_the_worker_that_failed)
{
    struct received received;
    struct error err;
    for (int i = 0; i < 10; i++) {
        assert_false(run(&received, 1, &err));
        assert_string_equal(err.text, "worker 3 has no input");
        discard(&received);
    }
    assert_false(run(&received, 2, &err));
    assert_string_equal(err.text, "worker 2 was killed by signal 9 (Killed)");
    discard(&received);
}

TEST(a_worker_that_does_not_end_is_killed)
{
    struct received received;
    struct error err;
    assert_false(run(&received, 3, &err));
    assert_string_equal(err.text, "a rank is gone");
    discard(&received);
}

TEST(too_few_cores_are_said_before_any_worker_starts)
{
    struct received received;
    struct error err;
    setenv("NEURON_RT_VISIBLE_CORES", "2-4", 1);
    assert_false(run(&received, 0, &err));
    assert_string_equal(err.text, "5 workers need a core each; NEURON_RT_VISIBLE_CORES=2-4");
    discard(&received);
    unsetenv("NEURON_RT_VISIBLE_CORES");
    setenv("NEURON_RT_NUM_CORES", "1000", 1);
    assert_false(run(&received, 0, &err));
    assert_string_equal(err.text, "1000 NeuronCores requested; trn1.32xlarge has 32");
    discard(&received);
    unsetenv("NEURON_RT_NUM_CORES");
}

/* A name that is taken: by another user's folder, or, where the test may not make one, by a link.
 */
static void take_name(const char *path)
{
    assert_int_equal(mkdir(path, 0700), 0);
    if (chown(path, 65534, (gid_t)-1) == 0)
        return;
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/", path), 0);
}

TEST(a_folder_of_locks_that_another_user_made_is_passed_over)
{
    const struct scratch *scratch = *state;
    struct scratch_name in_runtime = scratch_name(state, "kymo-neuron");
    struct error err;
    char name[64], path[PATH_MAX], again[PATH_MAX];
    assert_true(cores_folder(path, scratch->path, "/nowhere", &err));
    assert_string_equal(path, in_runtime.path);
    assert_int_equal(rmdir(path), 0);
    take_name(in_runtime.path);
    snprintf(name, sizeof name, "kymo-neuron-%u", (unsigned)geteuid());
    struct scratch_name taken = scratch_name(state, name);
    take_name(taken.path);
    assert_true(cores_folder(path, scratch->path, scratch->path, &err));
    assert_string_not_equal(path, taken.path);
    /* All agree on it, also once the name is free. */
    assert_int_equal(remove(taken.path), 0);
    assert_true(cores_folder(again, NULL, scratch->path, &err));
    assert_string_equal(again, path);
    assert_false(cores_folder(path, NULL, "/nowhere", &err));
    assert_non_null(strstr(err.text, "XDG_RUNTIME_DIR"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_have_a_core_each_and_an_address_in_common),
        cmocka_unit_test(the_error_is_that_of_the_worker_that_failed),
        cmocka_unit_test(a_worker_that_does_not_end_is_killed),
        cmocka_unit_test(too_few_cores_are_said_before_any_worker_starts),
        SCRATCH_TEST(a_folder_of_locks_that_another_user_made_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
