/*
 * Clocks of machines: offsets and drifts are found within the stated error, whatever the graph of
 * matches is.
 */
#include "report/fleet/clock.h"

#include "support.h"

#include <math.h>

enum { MACHINES = 12, MATCHES = 600 };

struct truth {
    double offset_ns[MACHINES], drift_ppm[MACHINES];
};

static struct rng rng;

static double uniform(void)
{
    return (double)(rng_u64(&rng) >> 11) * 0x1p-53;
}

static void choose(struct truth *truth, uint64_t seed)
{
    rng.state = seed;
    for (int i = 0; i < MACHINES; i++) {
        truth->offset_ns[i] = 2e7 * (uniform() - 0.5);
        truth->drift_ppm[i] = 40 * (uniform() - 0.5);
    }
}

static double seen(const struct truth *truth, uint32_t machine, double time_ns)
{
    return time_ns + truth->offset_ns[machine] + truth->drift_ppm[machine] * 1e-6 * time_ns;
}

static double aligned(const struct machine_clock *clock, double time_ns, double reference_ns)
{
    return time_ns + clock->offset_ns + clock->drift_ppm * 1e-6 * (time_ns - reference_ns);
}

/* Neighbors alone meet, as in a pipeline; every 37th sample is far off. */
static size_t sample_chain(const struct truth *truth, struct clock_sample *samples, bool is_cut)
{
    size_t count = 0;
    for (uint32_t match = 0; match < MATCHES; match++) {
        uint32_t first = match % (MACHINES - 1);
        double time = 1e9 * match + 1e6 * uniform();
        if (is_cut && first == MACHINES / 2 - 1)
            continue;
        for (uint32_t machine = first; machine < first + 2; machine++) {
            double noise = 1500 * (uniform() + uniform() - 1) + (count % 37 == 36 ? 4e5 : 0);
            samples[count++] = (struct clock_sample){
                .match = match, .machine = machine, .time_ns = seen(truth, machine, time) + noise};
        }
    }
    return count;
}

TEST(clocks_are_found_within_their_error)
{
    struct clock_sample samples[2 * MATCHES];
    struct machine_clock clocks[MACHINES];
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct truth truth;
        double reference;
        choose(&truth, seed);
        size_t count = sample_chain(&truth, samples, false);
        clocks_fit(samples, count, clocks, MACHINES, &reference);
        for (uint32_t i = 1; i < MACHINES; i++)
            for (double time = 0; time <= 1e9 * MATCHES; time += 5e9 * MATCHES / 50) {
                double here = aligned(&clocks[i], seen(&truth, i, time), reference);
                double there = aligned(&clocks[i - 1], seen(&truth, i - 1, time), reference);
                assert_true(fabs(here - there) < clocks[i].error_ns + clocks[i - 1].error_ns);
                assert_true(clocks[i].error_ns < 3000);
                assert_int_equal(clocks[i].component, 0);
            }
    }
}

TEST(machines_that_never_meet_are_told_apart)
{
    struct clock_sample samples[2 * MATCHES];
    struct machine_clock clocks[MACHINES];
    struct truth truth;
    double reference;
    choose(&truth, 3);
    size_t count = sample_chain(&truth, samples, true);
    clocks_fit(samples, count, clocks, MACHINES, &reference);
    for (uint32_t i = 0; i < MACHINES; i++)
        assert_int_equal(clocks[i].component, i < MACHINES / 2 ? 0 : 1);
}

/* Six samples within a second, of ranks that left milliseconds apart. */
TEST(noise_over_a_short_time_makes_no_drift)
{
    struct clock_sample samples[12];
    struct machine_clock clocks[2];
    double reference;
    rng.state = 1;
    for (uint32_t i = 0; i < 12; i++)
        samples[i] = (struct clock_sample){i / 2, i % 2, 2e8 * (i / 2) + 3e7 * uniform()};
    clocks_fit(samples, 12, clocks, 2, &reference);
    assert_true(fabs(clocks[0].drift_ppm) < 100);
    assert_true(clocks[0].error_ns > 1e6);
}

TEST(nothing_to_align_leaves_clocks_as_they_are)
{
    struct machine_clock clocks[2];
    double reference;
    clocks_fit(NULL, 0, clocks, 2, &reference);
    assert_true(clocks[0].offset_ns == 0 && clocks[1].drift_ppm == 0);
    assert_int_equal(clocks[1].component, 1);
    assert_int_equal(clocks[1].samples, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_are_found_within_their_error),
        cmocka_unit_test(machines_that_never_meet_are_told_apart),
        cmocka_unit_test(noise_over_a_short_time_makes_no_drift),
        cmocka_unit_test(nothing_to_align_leaves_clocks_as_they_are),
    };
    return cmocka_run_group_tests_name("fleet_clock", tests, NULL, NULL);
}
