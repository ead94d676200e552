/*
 * The id map compared with a plain list, for keys of all sizes and for the key patterns of real
 * files.
 */
#include "base/hash.h"
#include "base/idmap.h"

#include "support.h"

TEST(an_empty_map_knows_nothing)
{
    struct idmap map = {0};
    assert_int_equal(idmap_get(&map, 0), IDMAP_NONE);
    assert_int_equal(idmap_get(&map, 1 << 16), IDMAP_NONE);
    assert_int_equal(idmap_get(&map, UINT64_MAX), IDMAP_NONE);
    idmap_free(&map);
}

TEST(the_smallest_and_the_largest_keys_and_values_fit)
{
    struct idmap map = {0};
    static const uint64_t keys[] = {0,         1,          65535,     65536,          65537,
                                    INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX - 1, UINT64_MAX};
    for (uint32_t i = 0; i < COUNT_OF(keys); i++)
        idmap_put(&map, keys[i], UINT32_MAX - 1 - i);
    for (uint32_t i = 0; i < COUNT_OF(keys); i++)
        assert_int_equal(idmap_get(&map, keys[i]), UINT32_MAX - 1 - i);
    assert_int_equal(idmap_get(&map, 2), IDMAP_NONE);
    assert_int_equal(idmap_get(&map, 65534), IDMAP_NONE);
    assert_int_equal(idmap_get(&map, 65538), IDMAP_NONE);
    idmap_free(&map);
}

TEST(keys_below_the_largest_put_are_not_there_by_themselves)
{
    struct idmap map = {0};
    idmap_put(&map, 1000, 5);
    for (uint64_t key = 0; key < 1000; key++)
        assert_int_equal(idmap_get(&map, key), IDMAP_NONE);
    assert_int_equal(idmap_get(&map, 1000), 5);
    assert_int_equal(idmap_get(&map, 1001), IDMAP_NONE);
    idmap_free(&map);
}

TEST(keys_far_from_zero_are_found_in_the_table_when_they_are_counted_from_near_them)
{
    const uint64_t base = 5000000000;
    struct idmap map = {.base = base};
    for (uint32_t i = 0; i < 10000; i++)
        idmap_put(&map, base + i, i);
    idmap_put(&map, base - 1, 10000);
    idmap_put(&map, 3, 10001);
    assert_int_equal(map.used, 2);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(idmap_get(&map, base + i), i);
    assert_int_equal(idmap_get(&map, base - 1), 10000);
    assert_int_equal(idmap_get(&map, 3), 10001);
    assert_int_equal(idmap_get(&map, 4), IDMAP_NONE);
    assert_int_equal(idmap_get(&map, base + 10000), IDMAP_NONE);
    idmap_free(&map);
}

TEST(a_later_value_replaces_an_earlier_one)
{
    struct idmap map = {0};
    for (uint32_t round = 0; round < 1000; round++) {
        idmap_put(&map, 7, round);
        idmap_put(&map, UINT64_MAX, round + 1);
    }
    assert_int_equal(idmap_get(&map, 7), 999);
    assert_int_equal(idmap_get(&map, UINT64_MAX), 1000);
    assert_int_equal(map.used, 1);
    idmap_free(&map);
}

TEST(the_map_agrees_with_a_plain_list)
{
    enum { KEYS = 1500, STEPS = 60000 };
    static uint64_t keys[KEYS];
    static uint32_t values[KEYS];
    struct rng rng = {7};
    struct idmap map = {0};
    for (size_t i = 0; i < KEYS; i++) {
        bool taken = true;
        while (taken) {
            keys[i] = rng_any_width(&rng);
            taken = false;
            for (size_t j = 0; j < i; j++)
                taken |= keys[j] == keys[i];
        }
        values[i] = IDMAP_NONE;
    }
    for (unsigned step = 0; step < STEPS; step++) {
        size_t i = rng_below(&rng, KEYS);
        if (rng_below(&rng, 3) == 0) {
            values[i] = (uint32_t)rng_below(&rng, IDMAP_NONE);
            idmap_put(&map, keys[i], values[i]);
        } else {
            assert_int_equal(idmap_get(&map, keys[i]), values[i]);
        }
    }
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(idmap_get(&map, keys[i]), values[i]);
    idmap_free(&map);
}

TEST(a_million_keys_are_all_found)
{
    enum { KEYS = 1000000 };
    struct idmap map = {0};
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        idmap_put(&map, ((uint64_t)i << 20) + 12345, i);
    for (uint32_t i = 0; i < KEYS; i++)
        wrong += idmap_get(&map, ((uint64_t)i << 20) + 12345) != i;
    for (uint32_t i = 0; i < KEYS; i++)
        wrong += idmap_get(&map, ((uint64_t)i << 20) + 99999) != IDMAP_NONE;
    assert_int_equal(wrong, 0);
    idmap_free(&map);
}

/* Counters, addresses, and ids with constant low bits: any of them may be a file's keys. */
TEST(keys_that_count_in_any_bits_do_not_cluster)
{
    for (unsigned shift = 0; shift <= 48; shift++) {
        struct idmap map = {0};
        for (uint32_t i = 0; i < 50000; i++)
            idmap_put(&map, ((uint64_t)i << shift) + (1 << 16), i);
        size_t total = 0;
        for (size_t at = 0; at < map.slot_count; at++)
            if (map.slots[at].value != IDMAP_NONE)
                total += (at - hash_u64(map.slots[at].key)) & (map.slot_count - 1);
        assert_true((double)total / (double)map.used < 1.5);
        idmap_free(&map);
    }
}

TEST(a_freed_map_is_empty_and_can_be_used_again)
{
    struct idmap map = {0};
    idmap_put(&map, 1, 1);
    idmap_put(&map, 1u << 20, 2);
    idmap_free(&map);
    assert_int_equal(idmap_get(&map, 1), IDMAP_NONE);
    assert_int_equal(idmap_get(&map, 1u << 20), IDMAP_NONE);
    idmap_put(&map, 1u << 20, 3);
    assert_int_equal(idmap_get(&map, 1u << 20), 3);
    idmap_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_knows_nothing),
        cmocka_unit_test(the_smallest_and_the_largest_keys_and_values_fit),
        cmocka_unit_test(keys_below_the_largest_put_are_not_there_by_themselves),
        cmocka_unit_test(
            keys_far_from_zero_are_found_in_the_table_when_they_are_counted_from_near_them),
        cmocka_unit_test(a_later_value_replaces_an_earlier_one),
        cmocka_unit_test(the_map_agrees_with_a_plain_list),
        cmocka_unit_test(a_million_keys_are_all_found),
        cmocka_unit_test(keys_that_count_in_any_bits_do_not_cluster),
        cmocka_unit_test(a_freed_map_is_empty_and_can_be_used_again),
    };
    return cmocka_run_group_tests_name("idmap", tests, NULL, NULL);
}
