/*
 * Interning: equal texts have equal ids, different texts different ones, whatever their number; the
 * hash spreads keys typical of profiles.
 */
#include "base/hash.h"
#include "base/intern.h"

#include "support.h"

#include <time.h>

TEST(the_empty_text_is_number_zero)
{
    struct intern intern;
    intern_init(&intern);
    assert_int_equal(intern_find(&intern, TEXT("")), 0);
    assert_int_equal(intern_add(&intern, TEXT("")), 0);
    assert_int_equal(intern_add(&intern, (struct text){NULL, 0}), 0);
    assert_int_equal(intern_text(&intern, 0).size, 0);
    assert_string_equal(intern_text(&intern, 0).data, "");
    intern_free(&intern);
}

TEST(a_text_interned_twice_keeps_its_number)
{
    struct intern intern;
    intern_init(&intern);
    char name[] = "fusion.1";
    uint32_t first = intern_add(&intern, text_of(name));
    uint32_t other = intern_add(&intern, TEXT("fusion.2"));
    memset(name, '?', sizeof name);
    assert_int_equal(intern_add(&intern, TEXT("fusion.1")), first);
    assert_int_not_equal(first, other);
    assert_string_equal(intern_text(&intern, first).data, "fusion.1");
    intern_free(&intern);
}

TEST(numbers_are_given_out_in_order)
{
    struct intern intern;
    intern_init(&intern);
    assert_int_equal(intern_add(&intern, TEXT("a")), 1);
    assert_int_equal(intern_add(&intern, TEXT("b")), 2);
    assert_int_equal(intern_add(&intern, TEXT("a")), 1);
    assert_int_equal(intern_add(&intern, TEXT("c")), 3);
    intern_free(&intern);
}

TEST(finding_an_unknown_text_does_not_add_it)
{
    struct intern intern;
    intern_init(&intern);
    assert_int_equal(intern_find(&intern, TEXT("missing")), INTERN_NONE);
    assert_int_equal(intern_find(&intern, TEXT("missing")), INTERN_NONE);
    assert_int_equal(intern_add(&intern, TEXT("missing")), 1);
    assert_int_equal(intern_find(&intern, TEXT("missing")), 1);
    intern_free(&intern);
}

TEST(texts_that_differ_only_after_a_nul_are_different)
{
    struct intern intern;
    intern_init(&intern);
    uint32_t short_one = intern_add(&intern, TEXT("a"));
    uint32_t with_nul = intern_add(&intern, TEXT("a\0"));
    uint32_t with_tail = intern_add(&intern, TEXT("a\0b"));
    assert_int_not_equal(short_one, with_nul);
    assert_int_not_equal(with_nul, with_tail);
    assert_int_not_equal(short_one, with_tail);
    struct text text = intern_text(&intern, with_tail);
    assert_int_equal(text.size, 3);
    assert_memory_equal(text.data, "a\0b\0", 4);
    intern_free(&intern);
}

/* Runs of zero bytes have equal words at every step of the hash; only the length differs. */
TEST(runs_of_zeros_of_every_length_are_different)
{
    static const char zeros[301];
    struct intern intern;
    intern_init(&intern);
    for (uint32_t size = 0; size + 1 < sizeof zeros; size++) {
        assert_int_equal(intern_add(&intern, (struct text){zeros, size}), size);
        assert_int_not_equal(hash_bytes(zeros, size), hash_bytes(zeros, size + 1));
    }
    intern_free(&intern);
}

TEST(a_text_of_many_megabytes_is_kept_whole)
{
    struct intern intern;
    intern_init(&intern);
    size_t size = 10 << 20;
    char *huge = malloc(size);
    struct rng rng = {4};
    rng_fill(&rng, huge, size);
    uint32_t id = intern_add(&intern, (struct text){huge, size});
    huge[size - 1] ^= 1;
    uint32_t changed = intern_add(&intern, (struct text){huge, size});
    assert_int_not_equal(id, changed);
    assert_memory_equal(intern_text(&intern, changed).data, huge, size);
    huge[size - 1] ^= 1;
    assert_memory_equal(intern_text(&intern, id).data, huge, size);
    assert_int_equal(intern_find(&intern, (struct text){huge, size}), id);
    free(huge);
    intern_free(&intern);
}

/* A linear search gives the same ids. */
TEST(interning_agrees_with_a_plain_list)
{
    enum { STEPS = 20000, MOST = 800 };
    static struct {
        unsigned char data[40];
        size_t size;
    } known[MOST];
    size_t known_count = 1; /* the empty text */
    struct rng rng = {5};
    struct intern intern;
    intern_init(&intern);
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned char data[40];
        size_t size = rng_below(&rng, 3) == 0 ? rng_below(&rng, sizeof data) : rng_below(&rng, 4);
        for (size_t i = 0; i < size; i++)
            data[i] = (unsigned char)(rng_below(&rng, 3) * 0x7F);
        size_t expected = 0;
        while (expected < known_count &&
               (known[expected].size != size || memcmp(known[expected].data, data, size) != 0))
            expected++;
        unsigned char *copy = exact_copy(data, size);
        struct text text = {(const char *)copy, size};
        bool is_new = expected == known_count;
        if (is_new && (known_count == MOST || rng_below(&rng, 2))) {
            assert_int_equal(intern_find(&intern, text), INTERN_NONE);
        } else {
            if (is_new) {
                memcpy(known[known_count].data, data, size);
                known[known_count++].size = size;
            } else {
                assert_int_equal(intern_find(&intern, text), expected);
            }
            assert_int_equal(intern_add(&intern, text), expected);
        }
        free(copy);
    }
    assert_int_equal(known_count, MOST);
    assert_int_equal(intern.by_id.count, known_count);
    for (uint32_t id = 0; id < known_count; id++) {
        struct text text = intern_text(&intern, id);
        assert_int_equal(text.size, known[id].size);
        assert_memory_equal(text.data, known[id].data, text.size);
        assert_int_equal(text.data[text.size], '\0');
    }
    intern_free(&intern);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Without printf, which would dominate the measurement. */
static struct text numbered_name(char name[32], uint32_t number)
{
    char *end = name + 32, *at = end;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    at -= 7;
    memcpy(at, "fusion.", 7);
    return (struct text){at, (size_t)(end - at)};
}

TEST(four_million_texts_take_seconds_and_keep_their_numbers)
{
    enum { TEXTS = 4000000 };
    struct intern intern;
    intern_init(&intern);
    double start = cpu_seconds();
    char name[32];
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < TEXTS; i++)
        wrong += intern_add(&intern, numbered_name(name, i)) != i + 1;
    for (uint32_t i = 0; i < TEXTS; i++)
        wrong += intern_find(&intern, numbered_name(name, i)) != i + 1;
    double seconds = cpu_seconds() - start;
    for (uint32_t i = 0; i < TEXTS; i += 997)
        wrong += !text_equal(intern_text(&intern, i + 1), numbered_name(name, i));
    assert_int_equal(wrong, 0);
    assert_true(seconds < 60); /* about 2 s without sanitizers; quadratic behavior takes hours */
    intern_free(&intern);
}

/* Mean distance of the texts from the slot of their hash. */
static double mean_displacement(const struct intern *intern)
{
    size_t total = 0;
    for (size_t at = 0; at <= intern->slot_mask; at++) {
        uint32_t id = intern->slots[at].id;
        if (id == INTERN_NONE)
            continue;
        struct text text = intern_text(intern, id);
        total += (at - hash_bytes(text.data, text.size)) & intern->slot_mask;
    }
    return (double)total / (double)intern->by_id.count;
}

/* With a good hash and a load of at most one half, linear probing needs half a step (Knuth, TAOCP
 * volume 3, 6.4). */
TEST(names_that_differ_in_any_one_place_do_not_cluster)
{
    for (size_t size = 3; size <= 40; size++) {
        for (size_t place = 0; place + 3 <= size; place += 3) {
            struct intern intern;
            intern_init(&intern);
            char name[40];
            memset(name, 'x', sizeof name);
            for (unsigned i = 0; i < 4000; i++) {
                name[place] = (char)(i & 15);
                name[place + 1] = (char)(i >> 4 & 15);
                name[place + 2] = (char)(i >> 8);
                assert_int_equal(intern_add(&intern, (struct text){name, size}), i + 1);
            }
            assert_true(mean_displacement(&intern) < 1.5);
            intern_free(&intern);
        }
    }
}

TEST(the_hash_reads_no_byte_outside_its_range)
{
    for (size_t size = 0; size <= 64; size++) {
        char wide[66];
        memset(wide, 'a', sizeof wide);
        wide[0] = wide[size + 1] = 'x';
        uint64_t first = hash_bytes(wide + 1, size);
        wide[0] = wide[size + 1] = 'y';
        assert_int_equal(hash_bytes(wide + 1, size), first);
        void *exact = exact_copy(wide + 1, size);
        assert_int_equal(hash_bytes(exact, size), first);
        free(exact);
    }
}

TEST(every_byte_changes_the_hash)
{
    unsigned char data[64];
    struct rng rng = {6};
    rng_fill(&rng, data, sizeof data);
    for (size_t size = 1; size <= sizeof data; size++) {
        uint64_t whole = hash_bytes(data, size);
        for (size_t bit = 0; bit < size * 8; bit++) {
            data[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_int_not_equal(hash_bytes(data, size), whole);
            data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_empty_text_is_number_zero),
        cmocka_unit_test(a_text_interned_twice_keeps_its_number),
        cmocka_unit_test(numbers_are_given_out_in_order),
        cmocka_unit_test(finding_an_unknown_text_does_not_add_it),
        cmocka_unit_test(texts_that_differ_only_after_a_nul_are_different),
        cmocka_unit_test(runs_of_zeros_of_every_length_are_different),
        cmocka_unit_test(a_text_of_many_megabytes_is_kept_whole),
        cmocka_unit_test(interning_agrees_with_a_plain_list),
        cmocka_unit_test(four_million_texts_take_seconds_and_keep_their_numbers),
        cmocka_unit_test(names_that_differ_in_any_one_place_do_not_cluster),
        cmocka_unit_test(the_hash_reads_no_byte_outside_its_range),
        cmocka_unit_test(every_byte_changes_the_hash),
    };
    return cmocka_run_group_tests_name("intern", tests, NULL, NULL);
}
