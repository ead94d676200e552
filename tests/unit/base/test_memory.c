/*
 * Memory: zeroed, resized and copied blocks; a size that overflows ends the program rather than
 * becoming a small block.
 */
#include "base/arithmetic.h"
#include "base/memory.h"

#include "support.h"

#include <sys/wait.h>

TEST(zeroed_memory_is_zero_even_where_freed_memory_was_not)
{
    unsigned char *dirty = mem_alloc(100000);
    memset(dirty, 0xAA, 100000);
    mem_free(dirty);
    unsigned char *block = mem_zeroed(1000, 100);
    unsigned sum = 0;
    for (size_t i = 0; i < 100000; i++)
        sum += block[i];
    assert_int_equal(sum, 0);
    mem_free(block);
}

TEST(blocks_of_no_bytes_are_still_blocks)
{
    void *allocated = mem_alloc(0), *zeroed = mem_zeroed(0, 8), *resized = mem_resize(NULL, 8, 0);
    assert_non_null(allocated);
    assert_non_null(zeroed);
    assert_non_null(resized);
    resized = mem_resize(resized, 0, 0);
    assert_non_null(resized);
    mem_free(allocated);
    mem_free(zeroed);
    mem_free(resized);
    mem_free(NULL);
}

TEST(a_resized_block_keeps_its_bytes)
{
    struct rng rng = {2};
    unsigned char first[1000];
    rng_fill(&rng, first, sizeof first);
    unsigned char *block = mem_resize(NULL, 10, 100);
    memcpy(block, first, sizeof first);
    block = mem_resize(block, 1000, 1000);
    assert_memory_equal(block, first, sizeof first);
    block = mem_resize(block, 1, 10);
    assert_memory_equal(block, first, 10);
    mem_free(block);
}

TEST(a_copied_text_is_terminated_and_may_hold_nuls)
{
    char *copy = mem_copy_text("a\0bc", 3);
    assert_memory_equal(copy, "a\0b\0", 4);
    mem_free(copy);
    copy = mem_copy_text(NULL, 0);
    assert_string_equal(copy, "");
    mem_free(copy);
}

TEST(a_size_that_overflows_ends_the_program_with_a_sentence)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        mem_resize(NULL, SIZE_MAX / 4 + 1, 8);
        _exit(99);
    }
    close(ends[1]);
    char message[256] = {0};
    ssize_t size = read(ends[0], message, sizeof message - 1);
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_true(size > 0);
    assert_non_null(strstr(message, "out of memory"));
    assert_int_equal(message[size - 1], '\n');
}

static int64_t clamped_sum(int64_t a, int64_t b)
{
    __int128 sum = (__int128)a + b;
    return sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
}

TEST(saturated_sums_stop_at_the_ends_of_the_range)
{
    static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, -2,       -1, 0, 1,
                                    2,         INT64_MAX - 1, INT64_MAX};
    for (size_t i = 0; i < COUNT_OF(edges); i++)
        for (size_t j = 0; j < COUNT_OF(edges); j++)
            assert_int_equal(add_saturated(edges[i], edges[j]), clamped_sum(edges[i], edges[j]));
    struct rng rng = {3};
    for (unsigned i = 0; i < 100000; i++) {
        int64_t a = (int64_t)rng_u64(&rng), b = (int64_t)rng_u64(&rng);
        assert_int_equal(add_saturated(a, b), clamped_sum(a, b));
    }
}

TEST(differences_stop_at_the_ends_of_the_range)
{
    assert_true(sub_saturated(INT64_MAX, -1) == INT64_MAX);
    assert_true(sub_saturated(INT64_MIN, 1) == INT64_MIN);
    assert_true(sub_saturated(0, INT64_MIN) == INT64_MAX);
    assert_true(sub_saturated(5, 7) == -2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_memory_is_zero_even_where_freed_memory_was_not),
        cmocka_unit_test(blocks_of_no_bytes_are_still_blocks),
        cmocka_unit_test(a_resized_block_keeps_its_bytes),
        cmocka_unit_test(a_copied_text_is_terminated_and_may_hold_nuls),
        cmocka_unit_test(a_size_that_overflows_ends_the_program_with_a_sentence),
        cmocka_unit_test(saturated_sums_stop_at_the_ends_of_the_range),
        cmocka_unit_test(differences_stop_at_the_ends_of_the_range),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
