/*
 * Sorting compared with insertion sort: items of several sizes, many input orders, and stability.
 */
#include "base/sort.h"

#include "support.h"

/* Items of several sizes; only the key is compared. */
struct small {
    uint8_t key;
};

struct medium {
    uint32_t key, number;
};

struct large {
    uint64_t number;
    uint32_t key;
    char more[28];
};

static bool small_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct small *)a)->key < ((const struct small *)b)->key;
}

static bool medium_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct medium *)a)->key < ((const struct medium *)b)->key;
}

static bool large_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct large *)a)->key < ((const struct large *)b)->key;
}

enum order { RISING, FALLING, EQUAL, ANY, FEW_KEYS, SAWS, PEAK, NEARLY, ORDERS };

static uint32_t key_at(enum order order, size_t i, size_t count, struct rng *rng)
{
    switch (order) {
    case RISING:
        return (uint32_t)i;
    case FALLING:
        return (uint32_t)(count - i);
    case EQUAL:
        return 7;
    case ANY:
        return (uint32_t)rng_u64(rng);
    case FEW_KEYS:
        return (uint32_t)rng_below(rng, 5);
    case SAWS:
        return (uint32_t)(i % 37 * 3);
    case PEAK:
        return (uint32_t)(i < count / 2 ? i : count - i);
    default:
        return (uint32_t)(rng_below(rng, 10) ? i : rng_below(rng, count));
    }
}

/* Insertion sort: slow, stable, simple. */
static void sort_slowly(struct medium *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct medium item = items[i];
        size_t to = i;
        for (; to > 0 && item.key < items[to - 1].key; to--)
            items[to] = items[to - 1];
        items[to] = item;
    }
}

/* Sorts items of all sizes with the same keys, each in a block of exactly its size. */
static void check_against_insertion(const uint32_t *keys, size_t count)
{
    struct medium *wanted = malloc((count + 1) * sizeof *wanted);
    struct medium *medium = malloc(count * sizeof *medium);
    struct large *large = malloc(count * sizeof *large);
    struct small *small = malloc(count * sizeof *small);
    for (size_t i = 0; i < count; i++) {
        wanted[i] = medium[i] = (struct medium){keys[i], (uint32_t)i};
        large[i] = (struct large){.number = i, .key = keys[i], .more = "more"};
        small[i].key = (uint8_t)keys[i];
    }
    sort_slowly(wanted, count);
    sort_items(medium, count, sizeof *medium, medium_before, NULL);
    sort_items(large, count, sizeof *large, large_before, NULL);
    sort_items(small, count, sizeof *small, small_before, NULL);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(medium[i].key, wanted[i].key);
        assert_int_equal(medium[i].number, wanted[i].number);
        assert_int_equal(large[i].number, wanted[i].number);
        assert_string_equal(large[i].more, "more");
        assert_true(i == 0 || small[i - 1].key <= small[i].key);
    }
    free(wanted);
    free(medium);
    free(large);
    free(small);
}

TEST(lists_of_every_order_and_length_are_sorted_and_equal_items_stay_in_place)
{
    struct rng rng = {31};
    uint32_t keys[1500];
    for (enum order order = 0; order < ORDERS; order++)
        for (size_t count = 0; count < COUNT_OF(keys); count += count < 140 ? 1 : 317) {
            for (size_t i = 0; i < count; i++)
                keys[i] = key_at(order, i, count, &rng);
            check_against_insertion(keys, count);
        }
}

TEST(runs_of_any_length_behind_each_other_are_merged)
{
    struct rng rng = {32};
    uint32_t keys[1200];
    for (unsigned round = 0; round < 300; round++) {
        size_t longest = 1 + rng_below(&rng, 500);
        for (size_t i = 0, left = 0; i < COUNT_OF(keys); i++, left--) {
            if (left == 0)
                left = 1 + rng_below(&rng, longest);
            keys[i] = left == 1 || i == 0 ? (uint32_t)rng_below(&rng, 1000) : keys[i - 1] + 1;
        }
        check_against_insertion(keys, COUNT_OF(keys));
    }
}

static bool by_place(const void *a, const void *b, const void *context)
{
    const uint32_t *keys = context;
    return keys[*(const uint64_t *)a] < keys[*(const uint64_t *)b];
}

TEST(a_long_list_of_places_is_sorted_by_what_they_stand_for)
{
    enum { COUNT = 700000 };
    struct rng rng = {33};
    uint32_t *keys = malloc(COUNT * sizeof *keys);
    uint64_t *places = malloc(COUNT * sizeof *places);
    for (size_t i = 0; i < COUNT; i++) {
        keys[i] = (uint32_t)(rng_below(&rng, 3) ? i : rng_below(&rng, COUNT));
        places[i] = i;
    }
    sort_items(places, COUNT, sizeof *places, by_place, keys);
    size_t wrong = 0;
    bool *seen = calloc(COUNT, sizeof *seen);
    for (size_t i = 0; i < COUNT; i++) {
        wrong += seen[places[i]];
        seen[places[i]] = true;
        if (i > 0 && keys[places[i - 1]] == keys[places[i]])
            wrong += places[i - 1] > places[i];
        else if (i > 0)
            wrong += keys[places[i - 1]] > keys[places[i]];
    }
    assert_int_equal(wrong, 0);
    free(seen);
    free(keys);
    free(places);
}

static bool counting_before(const void *a, const void *b, const void *context)
{
    ++*(size_t *)(uintptr_t)context;
    return *(const uint32_t *)a < *(const uint32_t *)b;
}

TEST(what_is_sorted_costs_one_look_each_and_two_sorted_halves_three)
{
    enum { COUNT = 10000 };
    uint32_t keys[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        keys[i] = i;
    size_t looks = 0;
    sort_items(keys, COUNT, sizeof *keys, counting_before, &looks);
    assert_in_range(looks, 1, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        keys[i] = i < COUNT / 2 ? 2 * i : 2 * (i - COUNT / 2) + 1;
    looks = 0;
    sort_items(keys, COUNT, sizeof *keys, counting_before, &looks);
    assert_in_range(looks, COUNT, 3 * COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(keys[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_every_order_and_length_are_sorted_and_equal_items_stay_in_place),
        cmocka_unit_test(runs_of_any_length_behind_each_other_are_merged),
        cmocka_unit_test(a_long_list_of_places_is_sorted_by_what_they_stand_for),
        cmocka_unit_test(what_is_sorted_costs_one_look_each_and_two_sorted_halves_three),
    };
    return cmocka_run_group_tests_name("sort", tests, NULL, NULL);
}
