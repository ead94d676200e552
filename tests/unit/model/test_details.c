/*
 * Details of kernels, copies and memsets: known texts are parsed with words in any order, compared
 * with a simple parser on random texts; anything else is rejected, so that it stays a text.
 */
#include "model/details.h"

#include "support.h"

#include <inttypes.h>
#include <math.h>

#define KERNEL "regs:29 static_shared:0 dynamic_shared:16 grid:8192,2,1 block:128,4,3 occ_pct:37.5"

/* In a block of exactly its size, so sanitizers catch reads past the end. */
static bool kernel(const char *data, size_t size, struct kernel_details *details)
{
    char *copy = exact_copy(data, size);
    bool ok = read_kernel_details((struct text){copy, size}, details);
    free(copy);
    return ok;
}

static bool is_kernel(const char *text)
{
    struct kernel_details details;
    return kernel(text, strlen(text), &details);
}

static bool is_copy(const char *text)
{
    struct copy_details details;
    char *copy = exact_copy(text, strlen(text));
    bool ok = read_copy_details((struct text){copy, strlen(text)}, &details);
    free(copy);
    return ok;
}

static bool is_set(const char *text)
{
    struct copy_details details;
    char *copy = exact_copy(text, strlen(text));
    bool ok = read_set_details((struct text){copy, strlen(text)}, &details);
    free(copy);
    return ok;
}

TEST(a_kernel_is_read)
{
    struct kernel_details details;
    assert_true(kernel(KERNEL, strlen(KERNEL), &details));
    assert_int_equal(details.registers, 29);
    assert_int_equal(details.static_shared, 0);
    assert_int_equal(details.dynamic_shared, 16);
    static const int64_t grid[] = {8192, 2, 1}, block[] = {128, 4, 3};
    assert_memory_equal(details.grid, grid, sizeof grid);
    assert_memory_equal(details.block, block, sizeof block);
    assert_true(details.occupancy == 37.5);
}

TEST(a_kernel_of_an_older_tensorflow_is_read)
{
    static const char text[] = "regs:38 shm:96 grid:160,1,1 block:1024,1,1";
    struct kernel_details details;
    assert_true(kernel(text, strlen(text), &details));
    assert_true(details.has_registers && details.has_shared);
    assert_true(!details.has_shared_parts && !details.has_occupancy && !details.is_whole);
    assert_int_equal(details.registers, 38);
    assert_int_equal(details.shared, 96);
    assert_int_equal(details.block[0], 1024);
}

TEST(a_kernel_of_rocm_is_read_without_what_its_tracer_does_not_know)
{
    static const char text[] = " grid:256,1,1 block:64,4,1 private_mem:8 group_mem:16384 occ_pct:0";
    struct kernel_details details;
    assert_true(kernel(text, strlen(text), &details));
    assert_true(details.has_shared && !details.has_registers);
    assert_true(!details.has_shared_parts && !details.has_occupancy && !details.is_whole);
    assert_int_equal(details.shared, 16384);
    assert_int_equal(details.grid[0], 256);
    assert_int_equal(details.block[1], 4);
}

TEST(uninitialized_numbers_of_rocm_are_no_figures)
{
    static const char text[] = "regs:2191500840 static_shared:32462 dynamic_shared:0 "
                               "grid:1280,1,1 block:256,1,1 occ_pct:0";
    struct kernel_details details;
    assert_true(kernel(text, strlen(text), &details));
    assert_true(!details.has_registers && !details.has_shared && !details.has_shared_parts);
    assert_int_equal(details.grid[0], 1280);
}

TEST(words_of_two_forms_are_no_kernel)
{
    assert_false(is_kernel("regs:38 shm:96 grid:160,1,1 block:1024,1,1 occ_pct:50"));
    assert_false(is_kernel("regs:38 private_mem:0 group_mem:0 grid:1,1,1 block:1,1,1 occ_pct:0"));
    assert_false(is_kernel("shm:96 grid:160,1,1 block:1024,1,1"));
    assert_false(is_kernel("grid:160,1,1 block:1024,1,1"));
}

TEST(a_copy_of_rocm_is_read)
{
    struct copy_details details;
    assert_true(read_copy_details(TEXT("kind:Unknown size:655360 dest:2 async:1"), &details));
    assert_int_equal(details.bytes, 655360);
    assert_int_equal(details.source_kind.size + details.destination_kind.size, 0);
    assert_false(is_copy("kind:other size:5"));
}

TEST(the_name_of_a_copy_tells_its_direction)
{
    struct text source = TEXT(""), destination = TEXT("");
    assert_true(read_copy_kinds(TEXT("MemcpyD2H"), &source, &destination));
    assert_true(text_equal(source, TEXT("device")) && text_equal(destination, TEXT("host")));
    assert_true(read_copy_kinds(TEXT("CopyHostToDevice"), &source, &destination));
    assert_true(text_equal(source, TEXT("host")) && text_equal(destination, TEXT("device")));
    assert_false(read_copy_kinds(TEXT("MemcpyOther"), &source, &destination));
}

TEST(a_copy_is_read)
{
    struct copy_details details;
    assert_true(read_copy_details(
        TEXT("kind_src:pageable kind_dst:device size:40276 dest:3 async:1"), &details));
    assert_true(text_equal(details.source_kind, TEXT("pageable")));
    assert_true(text_equal(details.destination_kind, TEXT("device")));
    assert_int_equal(details.bytes, 40276);
    assert_true(details.has_peer && details.is_async);
    assert_int_equal(details.peer, 3);
    assert_true(read_copy_details(TEXT("async:0 size:1"), &details));
    assert_int_equal(details.source_kind.size + details.destination_kind.size, 0);
    assert_true(!details.has_peer && !details.is_async);
}

TEST(a_memset_is_read)
{
    struct copy_details details;
    assert_true(read_set_details(TEXT("kind:device num_bytes:8388608 async:1"), &details));
    assert_true(text_equal(details.destination_kind, TEXT("device")));
    assert_int_equal(details.source_kind.size, 0);
    assert_int_equal(details.bytes, 8388608);
    assert_true(details.is_async && !details.has_peer);
}

static void shuffle(struct rng *rng, char words[][64], size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = rng_below(rng, i);
        char kept[64];
        memcpy(kept, words[i - 1], sizeof kept);
        memcpy(words[i - 1], words[other], sizeof kept);
        memcpy(words[other], kept, sizeof kept);
    }
}

static size_t join(struct rng *rng, char *text, char words[][64], size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i <= count; i++) {
        for (size_t blanks = rng_below(rng, 3) + (i > 0 && i < count); blanks > 0; blanks--)
            text[size++] = ' ';
        for (const char *at = i < count ? words[i] : ""; *at; at++)
            text[size++] = *at;
    }
    text[size] = '\0';
    return size;
}

static int64_t any_number(struct rng *rng)
{
    return (int64_t)(rng_any_width(rng) >> 1);
}

TEST(kernels_made_at_random_are_read_in_any_order_of_words)
{
    struct rng rng = {31};
    for (int round = 0; round < 20000; round++) {
        int64_t n[9];
        for (size_t i = 0; i < COUNT_OF(n); i++)
            n[i] = any_number(&rng);
        double occupancy = (double)rng_below(&rng, 1000000) / 10000;
        char words[6][64], text[512];
        snprintf(words[0], 64, "regs:%" PRId64, n[0]);
        snprintf(words[1], 64, "static_shared:%" PRId64, n[1]);
        snprintf(words[2], 64, "dynamic_shared:%" PRId64, n[2]);
        snprintf(words[3], 64, "grid:%" PRIu32 ",%" PRIu32 ",%" PRIu32, (uint32_t)n[3],
                 (uint32_t)n[4], (uint32_t)n[5]);
        snprintf(words[4], 64, "block:%" PRIu32 ",%" PRIu32 ",%" PRIu32, (uint32_t)n[6],
                 (uint32_t)n[7], (uint32_t)n[8]);
        snprintf(words[5], 64, "occ_pct:%.17g", occupancy);
        shuffle(&rng, words, 6);
        struct kernel_details details;
        assert_true(kernel(text, join(&rng, text, words, 6), &details));
        assert_int_equal(details.registers, n[0]);
        assert_int_equal(details.has_registers, n[0] <= 65536);
        assert_int_equal(details.is_whole, n[0] <= 65536 && occupancy > 0);
        assert_int_equal(details.static_shared, n[1]);
        assert_int_equal(details.dynamic_shared, n[2]);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(details.grid[i], (uint32_t)n[3 + i]);
            assert_int_equal(details.block[i], (uint32_t)n[6 + i]);
        }
        assert_true(details.occupancy == occupancy);
        /* Without one of the words it is not a kernel. */
        assert_false(kernel(text, join(&rng, text, words, 5), &details));
    }
}

TEST(a_kernel_cut_off_anywhere_is_refused_or_ends_in_a_number)
{
    struct kernel_details details;
    for (size_t size = 0; size < strlen(KERNEL); size++) {
        bool has_all_words = size >= strlen(KERNEL) - 3; /* "37.5" may end as "3", "37" or "37." */
        assert_int_equal(kernel(KERNEL, size, &details), has_all_words);
    }
}

TEST(texts_of_another_shape_are_no_kernel)
{
    static const char *const wrong[] = {
        "",
        " ",
        ":",
        "regs",
        "regs:29",
        KERNEL " x",
        KERNEL " x:1",
        KERNEL " :",
        KERNEL " regs:",
        "regs:29,static_shared:0,dynamic_shared:16,grid:8192,2,1,block:128,4,3,occ_pct:37.5",
        "regs: 29 static_shared:0 dynamic_shared:16 grid:8192,2,1 block:128,4,3 occ_pct:37.5",
        "REGS:29 static_shared:0 dynamic_shared:16 grid:8192,2,1 block:128,4,3 occ_pct:37.5",
        "regs:-1 static_shared:0 dynamic_shared:16 grid:8192,2,1 block:128,4,3 occ_pct:37.5",
        "regs:+1 static_shared:0 dynamic_shared:16 grid:8192,2,1 block:128,4,3 occ_pct:37.5",
        "regs:2x static_shared:0 dynamic_shared:16 grid:8192,2,1 block:128,4,3 occ_pct:37.5",
        "regs:29\tstatic_shared:0 dynamic_shared:16 grid:8192,2,1 block:128,4,3 occ_pct:37.5",
        "regs:29 static_shared:0 dynamic_shared:16 grid:8192,2 block:128,4,3 occ_pct:37.5",
        "regs:29 static_shared:0 dynamic_shared:16 grid:8192,2,1,1 block:128,4,3 occ_pct:37.5",
        "regs:29 static_shared:0 dynamic_shared:16 grid:8192,,1 block:128,4,3 occ_pct:37.5",
        "regs:29 static_shared:0 dynamic_shared:16 grid:,2,1 block:128,4,3 occ_pct:37.5",
        "regs:29 static_shared:0 dynamic_shared:16 grid:8192,2, block:128,4,3 occ_pct:37.5",
        "regs:29 static_shared:0 dynamic_shared:16 grid:8192,2,1 block:128,4,3 occ_pct:",
        "regs:29 static_shared:0 dynamic_shared:16 grid:8192,2,1 block:128,4,3 occ_pct:x",
        "regs:29 static_shared:0 dynamic_shared:16 grid:8192,2,1 block:128,4,3 occ_pct:1,5",
        "regs:29 static_shared:0 dynamic_shared:16 grid:8192,2,1 block:128,4,3 occ_pct:37.5%",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (is_kernel(wrong[i]))
            fail_msg("taken for a kernel: %s", wrong[i]);
}

/* A text with more than the columns can hold must be rejected, or data is lost. */
TEST(a_word_that_comes_twice_is_refused)
{
    assert_false(is_kernel(KERNEL " regs:30"));
    assert_false(is_kernel(KERNEL " occ_pct:1"));
    assert_false(is_copy("size:5 size:6"));
    assert_false(is_copy("size:5 kind_src:a kind_src:b"));
    assert_false(is_copy("size:5 async:1 async:0"));
    assert_false(is_set("num_bytes:5 num_bytes:5"));
    assert_false(is_set("num_bytes:5 kind:a kind:b"));
}

TEST(a_nul_does_not_end_a_text)
{
    static const char behind[] = KERNEL "\0junk", inside[] = "size:5\0 async:1";
    struct kernel_details details;
    struct copy_details copy_details;
    assert_false(kernel(behind, sizeof behind - 1, &details));
    assert_false(kernel(behind, sizeof KERNEL, &details));
    assert_false(read_copy_details((struct text){inside, sizeof inside - 1}, &copy_details));
}

TEST(numbers_up_to_the_largest_are_read_and_none_above)
{
    struct copy_details details;
    assert_true(read_copy_details(TEXT("size:9223372036854775807"), &details));
    assert_int_equal(details.bytes, INT64_MAX);
    assert_false(is_copy("size:9223372036854775808"));
    assert_false(is_copy("size:92233720368547758070"));
    assert_false(is_copy("size:18446744073709551617"));
    assert_false(is_set("num_bytes:99999999999999999999999999999999999999999999"));
    assert_true(
        read_copy_details(TEXT("size:00000000000000000000000000000000000000012"), &details));
    assert_int_equal(details.bytes, 12);
}

TEST(texts_of_another_shape_are_no_copy)
{
    static const char *const wrong[] = {
        "",        " ",         "size",          "size:",       "size:x",         "size:1 dest:",
        "dest:1",  "async:1",   "size:1 x",      "size:1 x:1",  "size:1 async:2", "size:1 async:",
        "sizes:1", "size:1 :1", "size:1 kind:x", "num_bytes:5", "size:1,2",       "size:-1",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (is_copy(wrong[i]))
            fail_msg("taken for a copy: %s", wrong[i]);
    static const char *const wrong_sets[] = {
        "",
        "size:5",
        "num_bytes:",
        "num_bytes:5 dest:1",
        "num_bytes:5 kind_src:x",
        "kind:device",
        "num_bytes:5 async:yes",
    };
    for (size_t i = 0; i < COUNT_OF(wrong_sets); i++)
        if (is_set(wrong_sets[i]))
            fail_msg("taken for a memset: %s", wrong_sets[i]);
}

TEST(any_bytes_are_read_or_refused_and_never_read_beyond)
{
    static const char *const pieces[] = {"regs:",
                                         "static_shared:",
                                         "dynamic_shared:",
                                         "grid:",
                                         "block:",
                                         "occ_pct:",
                                         "size:",
                                         "dest:",
                                         "async:",
                                         "kind_src:",
                                         "kind_dst:",
                                         "kind:",
                                         "num_bytes:",
                                         " ",
                                         ",",
                                         "1",
                                         "0",
                                         "99999999999",
                                         ":",
                                         "x"};
    struct rng rng = {17};
    for (int round = 0; round < 200000; round++) {
        char text[256];
        size_t size = 0;
        for (size_t count = rng_below(&rng, 14); count > 0; count--) {
            const char *piece = pieces[rng_below(&rng, COUNT_OF(pieces))];
            memcpy(text + size, piece, strlen(piece));
            size += strlen(piece);
        }
        if (size > 0 && rng_below(&rng, 4) == 0)
            text[rng_below(&rng, size)] = (char)rng_u64(&rng);
        struct kernel_details details;
        struct copy_details copy_details;
        char *copy = exact_copy(text, size);
        struct text whole = {copy, size};
        kernel(text, size, &details);
        if (read_copy_details(whole, &copy_details) && copy_details.source_kind.size > 0) {
            assert_true(copy_details.source_kind.data > copy);
            assert_true(copy_details.source_kind.data + copy_details.source_kind.size <=
                        copy + size);
        }
        read_set_details(whole, &copy_details);
        free(copy);
    }
}

static void lists_of_three_numbers_are_read(void **state)
{
    (void)state;
    int64_t numbers[3];
    assert_true(read_triple(TEXT("[8192, 1,2 ]"), numbers));
    assert_true(numbers[0] == 8192 && numbers[1] == 1 && numbers[2] == 2);
    assert_true(read_triple(TEXT("[0,0,9223372036854775807]"), numbers));
    assert_true(numbers[2] == INT64_MAX);
    static const char *const others[] = {
        "",          "[]",     "[1,2]",    "[1,2,3,4]", "1,2,3",
        "[1,2,3",    "[1,,3]", "[1,2,-3]", "[1,2,x]",   "[1,2,3.0]",
        "[1 0,2,3]", "[",      "]",        "{1,2,3}",   "[1,2,9223372036854775808]"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        char *copy = exact_copy(others[i], strlen(others[i]));
        assert_false(read_triple((struct text){copy, strlen(others[i])}, numbers));
        free(copy);
    }
}

static void names_of_copies_end_in_kinds_of_memory(void **state)
{
    (void)state;
    struct text source, destination;
    assert_true(read_copy_kinds(TEXT("Memcpy HtoD (Pinned -> Device)"), &source, &destination));
    assert_true(text_equal(source, TEXT("Pinned")) && text_equal(destination, TEXT("Device")));
    static const char *const others[] = {
        "",        "Memcpy", "Memset (Device)", "()",      "( -> )", "(a -> )",
        "( -> b)", "(a->b)", "(a -> b) ",       "a -> b)", ")"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        char *copy = exact_copy(others[i], strlen(others[i]));
        assert_false(
            read_copy_kinds((struct text){copy, strlen(others[i])}, &source, &destination));
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_read),
        cmocka_unit_test(a_kernel_of_an_older_tensorflow_is_read),
        cmocka_unit_test(a_kernel_of_rocm_is_read_without_what_its_tracer_does_not_know),
        cmocka_unit_test(uninitialized_numbers_of_rocm_are_no_figures),
        cmocka_unit_test(words_of_two_forms_are_no_kernel),
        cmocka_unit_test(a_copy_of_rocm_is_read),
        cmocka_unit_test(the_name_of_a_copy_tells_its_direction),
        cmocka_unit_test(a_copy_is_read),
        cmocka_unit_test(a_memset_is_read),
        cmocka_unit_test(kernels_made_at_random_are_read_in_any_order_of_words),
        cmocka_unit_test(a_kernel_cut_off_anywhere_is_refused_or_ends_in_a_number),
        cmocka_unit_test(texts_of_another_shape_are_no_kernel),
        cmocka_unit_test(a_word_that_comes_twice_is_refused),
        cmocka_unit_test(a_nul_does_not_end_a_text),
        cmocka_unit_test(numbers_up_to_the_largest_are_read_and_none_above),
        cmocka_unit_test(texts_of_another_shape_are_no_copy),
        cmocka_unit_test(any_bytes_are_read_or_refused_and_never_read_beyond),
        cmocka_unit_test(lists_of_three_numbers_are_read),
        cmocka_unit_test(names_of_copies_end_in_kinds_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
