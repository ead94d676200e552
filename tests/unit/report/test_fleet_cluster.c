/*
 * Groups of lanes: planted ones are found whatever the order of lanes, noise is one group, and what
 * is promised of any input holds.
 */
#include "report/fleet/cluster.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>

static struct rng chance = {1};

static double random_unit(void)
{
    return (double)(rng_u64(&chance) >> 11) * 0x1p-53;
}

static float noise(void)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += random_unit();
    return (float)((sum - 2) * 1.73); /* standard deviation 1 */
}

enum { LANES = 400, WIDTH = 64 };
struct lanes {
    float features[LANES * WIDTH];
    double slowness[LANES];
    uint32_t planted[LANES], found[LANES];
};

/* 0: late from the middle on; 1: late at the beginning; 2: faster throughout; 3: as the others. */
static float planted_at(uint32_t kind, size_t block)
{
    switch (kind) {
    case 0:
        return block >= 32 ? 40 : 0;
    case 1:
        return block < 16 ? 60 : 0;
    case 2:
        return -30;
    default:
        return 0;
    }
}

static void plant(struct lanes *lanes, double share)
{
    for (size_t lane = 0; lane < LANES; lane++) {
        uint32_t kind = random_unit() < share ? (uint32_t)(random_unit() * 3) : 3;
        lanes->planted[lane] = kind;
        for (size_t i = 0; i < WIDTH; i++) {
            lanes->features[lane * WIDTH + i] = planted_at(kind, i) + noise();
            lanes->slowness[lane] += lanes->features[lane * WIDTH + i] / WIDTH;
        }
    }
}

TEST(planted_groups_are_found_and_numbered_from_the_slowest)
{
    for (int round = 0; round < 40; round++) {
        struct lanes *lanes = mem_zeroed(1, sizeof *lanes);
        plant(lanes, 0.2);
        const struct cluster_input input = {lanes->features, LANES, WIDTH, 5, lanes->slowness};
        assert_int_equal(cluster_lanes(&input, lanes->found), 4);
        /* Slowness: 20, 15, 0, -30. */
        static const uint32_t numbers[] = {0, 1, 3, 2};
        for (size_t lane = 0; lane < LANES; lane++)
            assert_int_equal(lanes->found[lane], numbers[lanes->planted[lane]]);
        mem_free(lanes);
    }
}

TEST(noise_is_one_group)
{
    struct lanes *lanes = mem_zeroed(1, sizeof *lanes);
    plant(lanes, 0);
    const struct cluster_input input = {lanes->features, LANES, WIDTH, 0, lanes->slowness};
    assert_int_equal(cluster_lanes(&input, lanes->found), 1);
    mem_free(lanes);
}

/* Root mean square of the difference of two groups' means. */
static double distance(const struct lanes *lanes, size_t width, uint32_t a, uint32_t b)
{
    double sum = 0;
    for (size_t i = 0; i < width; i++) {
        double sums[2] = {0}, counts[2] = {0};
        for (size_t lane = 0; lane < LANES; lane++)
            for (int side = 0; side < 2; side++)
                if (lanes->found[lane] == (side ? b : a)) {
                    sums[side] += lanes->features[lane * width + i];
                    counts[side]++;
                }
        double difference = sums[0] / counts[0] - sums[1] / counts[1];
        sum += difference * difference;
    }
    return sqrt(sum / (double)width);
}

TEST(groups_of_any_lanes_are_apart_few_and_in_order)
{
    for (int round = 0; round < 40; round++) {
        struct lanes *lanes = mem_zeroed(1, sizeof *lanes);
        size_t width = 1 + (size_t)(random_unit() * WIDTH);
        double scale = pow(10, 3 * random_unit()), least = 3 + 40 * random_unit();
        for (size_t i = 0; i < LANES * width; i++)
            lanes->features[i] = (float)(scale * (random_unit() < 0.1 ? noise() : 0));
        for (size_t lane = 0; lane < LANES; lane++)
            lanes->slowness[lane] = noise();
        const struct cluster_input input = {lanes->features, LANES, width, least, lanes->slowness};
        size_t count = cluster_lanes(&input, lanes->found);
        assert_in_range(count, 1, MAX_CLUSTERS);
        double means[MAX_CLUSTERS] = {0}, sizes[MAX_CLUSTERS] = {0};
        for (size_t lane = 0; lane < LANES; lane++) {
            assert_in_range(lanes->found[lane], 0, count - 1);
            sizes[lanes->found[lane]]++;
            means[lanes->found[lane]] += lanes->slowness[lane];
        }
        for (uint32_t a = 0; a < count; a++) {
            assert_true(sizes[a] > 0);
            assert_true(a == 0 || means[a - 1] / sizes[a - 1] >= means[a] / sizes[a]);
            for (uint32_t b = 0; b < a; b++)
                assert_true(distance(lanes, width, a, b) >= least * (1 - 1e-6));
        }
        uint32_t again[LANES];
        assert_int_equal(cluster_lanes(&input, again), count);
        assert_memory_equal(again, lanes->found, sizeof again);
        mem_free(lanes);
    }
}

TEST(few_or_no_lanes_are_one_group_or_none)
{
    uint32_t found[2] = {7, 7};
    const float same[] = {1, 2, 1, 2};
    const double slowness[] = {0, 1};
    assert_int_equal(cluster_lanes(&(struct cluster_input){same, 0, 2, 1, slowness}, found), 0);
    assert_int_equal(cluster_lanes(&(struct cluster_input){same, 2, 0, 1, slowness}, found), 1);
    assert_int_equal(cluster_lanes(&(struct cluster_input){same, 2, 2, 1, slowness}, found), 1);
    assert_int_equal(found[0] + found[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_groups_are_found_and_numbered_from_the_slowest),
        cmocka_unit_test(noise_is_one_group),
        cmocka_unit_test(groups_of_any_lanes_are_apart_few_and_in_order),
        cmocka_unit_test(few_or_no_lanes_are_one_group_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
