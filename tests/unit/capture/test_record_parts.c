/*
 * Smaller parts of the recorder: clock fits from ticks to time, /proc, and output directories.
 */
#include "base/clock.h"
#include "support.h"

#include "capture/recorder/clock.h"
#include "capture/recorder/proc.h"
#include "capture/recorder/session_directory.h"

#include <errno.h>
#include <sys/stat.h>

/* A counter of 2.5 ticks per nanosecond that runs slightly faster in the second half. */
static struct ring_session *session_with_samples(size_t count)
{
    struct ring_session *session = calloc(1, sizeof *session);
    uint64_t ticks = 1000000;
    for (size_t i = 0; i < count; i++) {
        session->sample[i] = (struct ring_sample){.ticks = ticks,
                                                  .monotonic_ns = 5000 + (int64_t)i * 1000000000,
                                                  .realtime_ns = 1700000000000000000};
        ticks += i < count / 2 ? 2500000000 : 2500100000;
    }
    session->sample[0].realtime_ns = 1800000000000000000; /* the clock was set back later */
    session->samples = count;
    return session;
}

TEST(ticks_between_samples_become_the_time_between_them)
{
    static const size_t counts[] = {2, 3, 10, 64, 65, 66, 1000};
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        struct ring_session *session = session_with_samples(counts[c]);
        struct clock_map map;
        clock_map_make(&map, session);
        int64_t last = INT64_MIN;
        for (size_t i = 0; i < counts[c]; i++) {
            int64_t expected = 1800000000000000000 + (int64_t)i * 1000000000;
            int64_t found = clock_map_ns(&map, session->sample[i].ticks);
            /* Between two segments, the error is bounded by the change of speed. */
            assert_in_range(found - expected + 1000000, 0, 2000000);
            assert_true(found > last);
            last = found;
        }
        int64_t before = clock_map_ns(&map, session->sample[0].ticks - 2500);
        assert_int_equal(before, 1800000000000000000 - 1000);
        free(session);
    }
}

TEST(time_goes_on_after_the_last_sample_and_with_a_single_one)
{
    struct ring_session *session = session_with_samples(2);
    struct clock_map map;
    clock_map_make(&map, session);
    int64_t after = clock_map_ns(&map, session->sample[1].ticks + 2500100000);
    assert_in_range(after, 1800000000000000000 + 1999900000, 1800000000000000000 + 2000100000);
    session->samples = 1;
    clock_map_make(&map, session);
    assert_int_equal(clock_map_ns(&map, session->sample[0].ticks + 7), 1800000000000000007);
    session->samples = 0;
    clock_map_make(&map, session);
    assert_int_equal(clock_map_ns(&map, 7), 7);
    free(session);
}

TEST(any_samples_and_ticks_give_some_time)
{
    struct rng rng = {1};
    struct ring_session *session = calloc(1, sizeof *session);
    for (int round = 0; round < 200; round++) {
        struct clock_map map;
        session->samples = rng_any_width(&rng);
        for (size_t i = 0; i < RING_CLOCK_SAMPLES; i++)
            session->sample[i] = (struct ring_sample){.ticks = rng_any_width(&rng),
                                                      .monotonic_ns = (int64_t)rng_any_width(&rng),
                                                      .realtime_ns = (int64_t)rng_any_width(&rng)};
        clock_map_make(&map, session);
        for (int i = 0; i < 100; i++)
            clock_map_ns(&map, rng_any_width(&rng));
    }
    free(session);
}

TEST(the_clock_and_the_wall_agree)
{
    clock_choose();
    struct ring_sample sample = clock_sample();
    int64_t now = clock_wall_ns();
    assert_in_range(now - sample.realtime_ns, 0, 1000000000);
    assert_true(clock_ticks() > sample.ticks);
}

TEST(proc_stat_gives_busy_and_total_time_of_every_cpu)
{
    struct proc_cpus *cpus = calloc(1, sizeof *cpus);
    assert_true(proc_parse_cpus(cpus, "cpu  10 1 20 300 40 5 6 7 8 9\n"
                                      "cpu0 5 1 10 100 20 2 3 4 4 4\n"
                                      "cpu3 5 0 10 200 20 3 3 3 4 5\n"
                                      "intr 1234\n"));
    assert_int_equal(cpus->count, 2);
    assert_int_equal(cpus->all.total, 389);
    assert_int_equal(cpus->all.busy, 49);
    assert_int_equal(cpus->cpu[1].id, 3);
    assert_int_equal(cpus->cpu[1].busy, 24);
    assert_false(proc_parse_cpus(cpus, ""));
    assert_true(proc_read_cpus(cpus));
    assert_true(cpus->count > 0 && cpus->all.total >= cpus->all.busy);
    free(cpus);
}

TEST(proc_meminfo_gives_total_and_available_memory)
{
    struct proc_memory memory;
    assert_true(proc_parse_memory(&memory, "MemTotal:       1000 kB\nMemFree: 1 kB\n"
                                           "MemAvailable:    400 kB\n"));
    assert_int_equal(memory.total_bytes, 1024000);
    assert_int_equal(memory.available_bytes, 409600);
    assert_false(proc_parse_memory(&memory, "MemTotal: 1 kB\n"));
    assert_true(proc_read_memory(&memory));
}

TEST(the_instance_comes_from_the_environment_and_fits_into_a_file_name)
{
    char instance[32];
    setenv("KYMO_INSTANCE_ID", "../i 0/abc", 1);
    instance_id(instance, sizeof instance);
    assert_string_equal(instance, "_._i_0_abc");
    unsetenv("KYMO_INSTANCE_ID");
    instance_id(instance, sizeof instance);
    assert_true(strlen(instance) > 0);
}

TEST(a_second_capture_of_the_same_name_goes_into_a_directory_of_its_own)
{
    char first[SESSION_DIRECTORY_MAX], next[SESSION_DIRECTORY_MAX];
    struct error err;
    struct scratch_name out = scratch_name(state, "a/b/c");
    assert_true(session_directory_make(first, out.path, "i-1", &err));
    for (int i = 0; i < 3; i++) {
        assert_true(session_directory_make(next, out.path, "i-1", &err));
        assert_memory_equal(next, first, strlen(first));
        assert_int_equal(next[strlen(first)], '/');
    }
    assert_false(session_directory_make(next, "/dev/null/x", "i-1", &err));
    assert_string_equal(err.file, "/dev/null/x");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_between_samples_become_the_time_between_them),
        cmocka_unit_test(time_goes_on_after_the_last_sample_and_with_a_single_one),
        cmocka_unit_test(any_samples_and_ticks_give_some_time),
        cmocka_unit_test(the_clock_and_the_wall_agree),
        cmocka_unit_test(proc_stat_gives_busy_and_total_time_of_every_cpu),
        cmocka_unit_test(proc_meminfo_gives_total_and_available_memory),
        cmocka_unit_test(the_instance_comes_from_the_environment_and_fits_into_a_file_name),
        WITH_FOLDER(a_second_capture_of_the_same_name_goes_into_a_directory_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
