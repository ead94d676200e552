/*
 * Clock fits of devices to their host, compared with the lines the points were generated from.
 */
#include "model/model.h"
#include "support.h"

enum { HOUR_S = 3600 };
static const int64_t EPOCH_NS = 1700000000000000000, NS_PER_S = 1000000000;

static int64_t true_host_ns(int64_t device_ns, int64_t offset_ns, double drift)
{
    return offset_ns + device_ns + (int64_t)((double)device_ns * drift);
}

static void assert_near(int64_t is, int64_t should, int64_t tolerance)
{
    int64_t apart = is > should ? is - should : should - is;
    if (apart > tolerance)
        fail_msg("%lld is %lld away from %lld", (long long)is, (long long)apart, (long long)should);
}

TEST(one_point_tells_the_offset)
{
    struct clock_fit fit = {0};
    clock_fit_add(&fit, (struct clock_point){.device_ns = 5000, .host_ns = EPOCH_NS});
    clock_fit_finish(&fit);
    assert_int_equal(clock_fit_host_ns(&fit, 5000), EPOCH_NS);
    assert_int_equal(clock_fit_host_ns(&fit, 0), EPOCH_NS - 5000);
    assert_int_equal(clock_fit_host_ns(&fit, 12345), EPOCH_NS + 7345);
    assert_int_equal(clock_fit_host_ns_of_run(&fit, 5001, 77), EPOCH_NS + 1);
    clock_fit_free(&fit);
}

TEST(drifting_clocks_are_followed_before_between_and_behind_their_points)
{
    struct rng rng = {3};
    for (int round = 0; round < 200; round++) {
        struct clock_fit fit = {0};
        double drift = ((double)rng_below(&rng, 2001) - 1000) * 1e-7; /* up to 100 ppm */
        int64_t offset = EPOCH_NS + (int64_t)rng_below(&rng, 1u << 30);
        size_t points = 2 + rng_below(&rng, 20);
        for (size_t i = 0; i < points; i++) {
            int64_t device = (int64_t)rng_below(&rng, (size_t)(HOUR_S * NS_PER_S));
            clock_fit_add(&fit, (struct clock_point){.device_ns = device,
                                                     .host_ns = true_host_ns(device, offset, drift),
                                                     .has_run = true,
                                                     .run = i});
        }
        clock_fit_finish(&fit);
        for (int i = 0; i < 50; i++) {
            int64_t device = (int64_t)rng_below(&rng, (size_t)(HOUR_S * NS_PER_S));
            int64_t host = true_host_ns(device, offset, drift);
            assert_near(clock_fit_host_ns(&fit, device), host, 4000);
            assert_near(clock_fit_host_ns_of_run(&fit, device, rng_below(&rng, points)), host,
                        4000);
        }
        const struct clock_point *point;
        array_each (point, &fit.points)
            assert_int_equal(clock_fit_host_ns(&fit, point->device_ns), point->host_ns);
        clock_fit_free(&fit);
    }
}

/* Least-squares slope, computed directly. */
static double plain_slope(const struct clock_point *points, size_t count)
{
    long double x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        x += (long double)points[i].device_ns / (long double)count;
        y += (long double)(points[i].host_ns - EPOCH_NS) / (long double)count;
    }
    for (size_t i = 0; i < count; i++) {
        long double dx = (long double)points[i].device_ns - x;
        xx += dx * dx;
        xy += dx * ((long double)(points[i].host_ns - EPOCH_NS) - y);
    }
    return (double)(xy / xx);
}

TEST(noise_is_averaged_by_least_squares)
{
    struct rng rng = {4};
    for (int round = 0; round < 100; round++) {
        struct clock_fit fit = {0};
        for (size_t i = 0; i < 50; i++) {
            int64_t device = (int64_t)i * NS_PER_S + (int64_t)rng_below(&rng, 1000000);
            int64_t noise = (int64_t)rng_below(&rng, 20000) - 10000;
            clock_fit_add(&fit, (struct clock_point){
                                    .device_ns = device,
                                    .host_ns = true_host_ns(device, EPOCH_NS, 5e-5) + noise});
        }
        clock_fit_finish(&fit);
        double slope = plain_slope(fit.points.items, fit.points.count);
        assert_true(fit.slope > slope - 1e-12 && fit.slope < slope + 1e-12);
        clock_fit_free(&fit);
    }
}

TEST(times_of_a_run_count_from_its_own_point)
{
    struct clock_fit fit = {0};
    clock_fit_add(&fit, (struct clock_point){0, 1000, true, 1});
    clock_fit_add(&fit, (struct clock_point){1000, 2500, true, 2}); /* 500 late */
    clock_fit_finish(&fit);
    fit.slope = 1;
    assert_int_equal(clock_fit_host_ns_of_run(&fit, 1010, 1), 2010);
    assert_int_equal(clock_fit_host_ns_of_run(&fit, 990, 2), 2490);
    assert_int_equal(clock_fit_host_ns_of_run(&fit, 1010, 3), 2510);
    clock_fit_free(&fit);
}

TEST(what_is_no_clock_gives_offsets)
{
    struct clock_fit fit = {0};
    clock_fit_add(&fit, (struct clock_point){.device_ns = 100, .host_ns = EPOCH_NS});
    clock_fit_add(&fit, (struct clock_point){.device_ns = 101, .host_ns = EPOCH_NS + 1000000});
    clock_fit_add(&fit, (struct clock_point){.device_ns = 101, .host_ns = EPOCH_NS - 1000000});
    clock_fit_finish(&fit);
    assert_int_equal(clock_fit_host_ns(&fit, 50), EPOCH_NS - 50);
    clock_fit_free(&fit);
    fit = (struct clock_fit){0};
    clock_fit_add(&fit, (struct clock_point){.device_ns = INT64_MIN, .host_ns = INT64_MAX});
    clock_fit_add(&fit, (struct clock_point){.device_ns = INT64_MAX, .host_ns = INT64_MIN});
    clock_fit_finish(&fit);
    clock_fit_host_ns(&fit, 0);
    clock_fit_host_ns(&fit, INT64_MAX);
    clock_fit_host_ns(&fit, INT64_MIN);
    clock_fit_free(&fit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_point_tells_the_offset),
        cmocka_unit_test(drifting_clocks_are_followed_before_between_and_behind_their_points),
        cmocka_unit_test(noise_is_averaged_by_least_squares),
        cmocka_unit_test(times_of_a_run_count_from_its_own_point),
        cmocka_unit_test(what_is_no_clock_gives_offsets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
