/*
 * Percentiles: against a sorted copy and the definition, for any order of the values, with ties and
 * with infinities.
 */
#include "base/percentile.h"

#include "support.h"

#include <math.h>

enum { ROUNDS = 2000, MOST = 64 };

static int by_value(const void *a, const void *b)
{
    double m = *(const double *)a, n = *(const double *)b;
    return (m > n) - (m < n);
}

/* As NumPy documents its method 'linear'. */
static double by_definition(const double *sorted, size_t count, double share)
{
    double place = share * (double)(count - 1);
    double below = floor(place);
    size_t i = (size_t)below, k = i + 1 < count ? i + 1 : i;
    return sorted[i] * (1 - (place - below)) + sorted[k] * (place - below);
}

static void check(double *values, size_t count, double share)
{
    double sorted[MOST], expected;
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_value);
    expected = by_definition(sorted, count, share);
    assert_true(fabs(percentile_sorted(sorted, count, share) - expected) <= 1e-9);
    assert_true(percentile_of(values, count, share) == percentile_sorted(sorted, count, share));
}

TEST(a_percentile_lies_between_the_two_nearest_ranks)
{
    (void)state;
    double values[] = {40, 10, 30, 20};
    assert_true(percentile_median(values, 4) == 25);
    assert_true(percentile_of(values, 4, 0) == 10);
    assert_true(percentile_of(values, 4, 1) == 40);
    assert_true(fabs(percentile_of(values, 4, 0.99) - 39.7) < 1e-9);
    assert_true(percentile_median(values, 1) == values[0]);
}

TEST(percentiles_are_those_of_the_definition)
{
    (void)state;
    static const double shares[] = {0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1};
    uint64_t random = 1;
    for (int round = 0; round < ROUNDS; round++) {
        double values[MOST];
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t count = 1 + (random >> 33) % MOST;
        uint64_t kinds = 1 + (random >> 40) % 50; /* ties */
        for (size_t i = 0; i < count; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            values[i] = (double)((random >> 33) % kinds) - 7;
        }
        check(values, count, shares[round % (int)(sizeof shares / sizeof *shares)]);
    }
}

TEST(equal_infinities_give_no_nan)
{
    (void)state;
    double values[] = {INFINITY, INFINITY, 1, INFINITY};
    assert_true(percentile_of(values, 4, 0.9) == (double)INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_percentile_lies_between_the_two_nearest_ranks),
        cmocka_unit_test(percentiles_are_those_of_the_definition),
        cmocka_unit_test(equal_infinities_give_no_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
