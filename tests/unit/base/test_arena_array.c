/*
 * Arenas and growable arrays: allocations never overlap, move or get lost.
 */
#include "base/arena.h"
#include "base/array.h"

#include "support.h"

enum { MANY = 3000 };

struct piece {
    unsigned char *data;
    size_t size;
    unsigned char mark;
};

static bool piece_is_whole(const struct piece *piece)
{
    for (size_t i = 0; i < piece->size; i++)
        if (piece->data[i] != piece->mark)
            return false;
    return true;
}

TEST(pieces_are_aligned_and_never_overlap)
{
    struct rng rng = {1};
    struct arena arena = {0};
    static struct piece pieces[MANY];
    size_t total = 0;
    for (size_t i = 0; i < MANY; i++) {
        size_t size = rng_below(&rng, 100) == 0 ? rng_below(&rng, 100000) : rng_below(&rng, 100);
        bool text = rng_below(&rng, 2);
        char source[1] = {0};
        pieces[i].size = text ? 1 : size;
        pieces[i].data =
            text ? (unsigned char *)arena_copy_text(&arena, source, 0) : arena_alloc(&arena, size);
        pieces[i].mark = (unsigned char)rng_u64(&rng);
        if (!text)
            assert_int_equal((uintptr_t)pieces[i].data % 16, 0);
        memset(pieces[i].data, pieces[i].mark, pieces[i].size);
        total += pieces[i].size;
    }
    for (size_t i = 0; i < MANY; i++)
        assert_true(piece_is_whole(&pieces[i]));
    assert_true(arena.allocated_bytes >= total);
    arena_free(&arena);
}

TEST(a_piece_larger_than_any_block_is_whole)
{
    struct arena arena = {0};
    size_t size = 20 << 20;
    char *small = arena_alloc(&arena, 1);
    char *huge = arena_alloc(&arena, size);
    char *after = arena_alloc(&arena, 1);
    *small = 'a';
    memset(huge, 'b', size);
    *after = 'c';
    assert_int_equal(*small, 'a');
    assert_int_equal(huge[0], 'b');
    assert_int_equal(huge[size - 1], 'b');
    assert_true(arena.allocated_bytes >= size + 2);
    arena_free(&arena);
}

TEST(a_huge_piece_does_not_make_later_blocks_huge)
{
    struct arena arena = {0};
    arena_alloc(&arena, 64 << 20);
    size_t before = arena.allocated_bytes;
    arena_alloc(&arena, 1);
    assert_in_range(arena.allocated_bytes - before, 1, 8 << 20);
    arena_free(&arena);
}

TEST(short_texts_are_packed_without_padding)
{
    struct arena arena = {0};
    for (unsigned i = 0; i < 100000; i++)
        arena_copy_text(&arena, "xyz", 3);
    assert_true(arena.allocated_bytes <= 100000 * 4 * 3);
    arena_free(&arena);
}

TEST(a_copied_text_keeps_inner_nuls_and_ends_with_one)
{
    struct arena arena = {0};
    char source[] = {'a', '\0', 'b', 'X'};
    char *copy = arena_copy_text(&arena, source, 3);
    memset(source, '?', sizeof source);
    assert_memory_equal(copy, "a\0b\0", 4);
    arena_free(&arena);
}

TEST(an_empty_text_may_come_from_nowhere)
{
    struct arena arena = {0};
    assert_string_equal(arena_copy_text(&arena, NULL, 0), "");
    arena_free(&arena);
}

TEST(a_freed_arena_is_empty_and_can_be_used_again)
{
    struct arena arena = {0};
    arena_free(&arena);
    arena_alloc(&arena, 100);
    arena_free(&arena);
    assert_null(arena.newest);
    assert_int_equal(arena.allocated_bytes, 0);
    assert_string_equal(arena_copy_text(&arena, "again", 5), "again");
    arena_free(&arena);
}

TEST(pushed_items_stay_in_order)
{
    ARRAY(uint64_t) numbers = {0};
    for (uint64_t i = 0; i < 100000; i++)
        *array_push(&numbers) = i * i;
    assert_int_equal(numbers.count, 100000);
    uint64_t expected = 0, *number;
    array_each (number, &numbers) {
        assert_int_equal(*number, expected * expected);
        expected++;
    }
    assert_int_equal(expected, 100000);
    array_free(&numbers);
}

TEST(pushing_moves_an_array_only_a_few_times)
{
    ARRAY(uint8_t) bytes = {0};
    size_t growths = 0, capacity = 0;
    for (size_t i = 0; i < 1000000; i++) {
        *array_push(&bytes) = (uint8_t)i;
        growths += bytes.capacity != capacity;
        capacity = bytes.capacity;
    }
    assert_in_range(growths, 1, 40);
    array_free(&bytes);
}

TEST(reserving_keeps_the_items_and_makes_room_once)
{
    ARRAY(unsigned) numbers = {0};
    for (unsigned i = 0; i < 10; i++)
        *array_push(&numbers) = i;
    array_reserve(&numbers, 5000);
    assert_true(numbers.capacity >= 5000);
    assert_int_equal(numbers.count, 10);
    const unsigned *place = numbers.items;
    for (unsigned i = 10; i < 5000; i++)
        *array_push(&numbers) = i;
    assert_ptr_equal(numbers.items, place);
    for (unsigned i = 0; i < 5000; i++)
        assert_int_equal(numbers.items[i], i);
    array_reserve(&numbers, 1);
    assert_true(numbers.capacity >= 5000);
    array_free(&numbers);
}

TEST(an_empty_array_has_nothing_to_visit)
{
    ARRAY(int) numbers = {0};
    int *number, visits = 0;
    array_each (number, &numbers)
        visits++;
    array_reserve(&numbers, 3);
    array_each (number, &numbers)
        visits++;
    assert_int_equal(visits, 0);
    array_free(&numbers);
}

TEST(a_freed_array_is_empty_and_can_be_used_again)
{
    ARRAY(int) numbers = {0};
    *array_push(&numbers) = 1;
    array_free(&numbers);
    assert_null(numbers.items);
    assert_int_equal(numbers.count, 0);
    assert_int_equal(numbers.capacity, 0);
    *array_push(&numbers) = 2;
    assert_int_equal(numbers.items[0], 2);
    assert_int_equal(numbers.count, 1);
    array_free(&numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_never_overlap),
        cmocka_unit_test(a_piece_larger_than_any_block_is_whole),
        cmocka_unit_test(a_huge_piece_does_not_make_later_blocks_huge),
        cmocka_unit_test(short_texts_are_packed_without_padding),
        cmocka_unit_test(a_copied_text_keeps_inner_nuls_and_ends_with_one),
        cmocka_unit_test(an_empty_text_may_come_from_nowhere),
        cmocka_unit_test(a_freed_arena_is_empty_and_can_be_used_again),
        cmocka_unit_test(pushed_items_stay_in_order),
        cmocka_unit_test(pushing_moves_an_array_only_a_few_times),
        cmocka_unit_test(reserving_keeps_the_items_and_makes_room_once),
        cmocka_unit_test(an_empty_array_has_nothing_to_visit),
        cmocka_unit_test(a_freed_array_is_empty_and_can_be_used_again),
    };
    return cmocka_run_group_tests_name("arena and array", tests, NULL, NULL);
}
