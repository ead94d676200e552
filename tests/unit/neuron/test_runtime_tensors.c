/*
 * The runtime used rightly: tensors and sets of them.
 */
#include "runtime_tests.h"

#include <nrt/nrt_experimental.h>

TEST(tensors_keep_what_is_written)
{
    static const nrt_tensor_placement_t placements[] = {
        NRT_TENSOR_PLACEMENT_DEVICE, NRT_TENSOR_PLACEMENT_HOST, NRT_TENSOR_PLACEMENT_VIRTUAL};
    for (size_t p = 0; p < COUNT_OF(placements); p++) {
        nrt_tensor_t *tensor;
        uint8_t data[100], back[100];
        OK(nrt_tensor_allocate(placements[p], p == 0 ? 3 : -1, 1000, NULL, &tensor));
        assert_int_equal(nrt_tensor_get_size(tensor), 1000);
        OK(nrt_tensor_read(tensor, back, 900, 100));
        for (int i = 0; i < 100; i++) {
            assert_int_equal(back[i], 0);
            data[i] = (uint8_t)(i + 1);
        }
        OK(nrt_tensor_write(tensor, data, 900, 100));
        OK(nrt_tensor_memset(tensor, 910, 7, 5));
        memset(data + 10, 7, 5);
        OK(nrt_tensor_read(tensor, back, 900, 100));
        assert_memory_equal(data, back, 100);
        assert_memory_equal((uint8_t *)nrt_tensor_get_va(tensor) + 900, data, 100);
        nrt_tensor_free(&tensor);
        assert_null(tensor);
    }
}

TEST(slices_share_memory_that_lives_as_long_as_they)
{
    nrt_tensor_t *whole, *part, *inner;
    uint32_t value = 0x01020304, back = 0;
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 4096, "whole", &whole));
    OK(nrt_tensor_allocate_slice(whole, 1024, 1024, "part", &part));
    OK(nrt_tensor_allocate_slice(part, 100, 8, "inner", &inner));
    assert_int_equal(nrt_tensor_allocate_slice(part, 1020, 5, "out", &whole), NRT_INVALID);
    OK(nrt_tensor_write(whole, &value, 1126, 4));
    nrt_tensor_free(&whole);
    nrt_tensor_free(&part);
    OK(nrt_tensor_read(inner, &back, 2, 4));
    assert_int_equal(back, value);
    nrt_vnc_memory_stats_t stats;
    OK(nrt_get_vnc_memory_stats(0, &stats, sizeof stats, NULL));
    assert_int_equal(stats.bytes_used, 4096);
    nrt_tensor_free(&inner);
    OK(nrt_get_vnc_memory_stats(0, &stats, sizeof stats, NULL));
    assert_int_equal(stats.bytes_used, 0);
    assert_int_equal(stats.bytes_limit, UINT64_C(16) << 30);
}

TEST(a_buffer_can_be_a_tensor)
{
    nrt_tensor_t *tensor;
    uint8_t mine[64] = {0}, data[4] = {1, 2, 3, 4};
    OK(nrt_tensor_allocate_empty("mine", &tensor));
    assert_int_equal(nrt_tensor_get_size(tensor), 0);
    assert_null(nrt_tensor_get_va(tensor));
    assert_int_equal(nrt_tensor_write(tensor, data, 0, 4), NRT_INVALID);
    OK(nrt_tensor_attach_buffer(tensor, mine, sizeof mine));
    OK(nrt_tensor_write(tensor, data, 60, 4));
    assert_memory_equal(mine + 60, data, 4);
    nrt_tensor_device_allocation_info_t info;
    assert_int_equal(nrt_tensor_get_device_allocation_info(tensor, &info), NRT_INVALID);
    nrt_tensor_free(&tensor);
}

/* AddressSanitizer knows copies that must not overlap. */
TEST(a_buffer_may_overlap_the_tensor)
{
    enum { SIZE = 1 << 16, SHIFT = 100, LENGTH = SIZE - SHIFT };
    nrt_tensor_t *tensor;
    uint8_t *expected = malloc(SIZE), *data;
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, SIZE, "t", &tensor));
    data = nrt_tensor_get_va(tensor);
    for (int way = 0; way < 3; way++) {
        for (int i = 0; i < SIZE; i++)
            data[i] = expected[i] = (uint8_t)(i * 7 + i / 256);
        memmove(expected + SHIFT, expected, LENGTH);
        if (way == 0)
            OK(nrt_tensor_write(tensor, data, SHIFT, LENGTH));
        else if (way == 1)
            OK(nrt_tensor_read(tensor, data + SHIFT, 0, LENGTH));
        else
            OK(nrt_memcpy_to_device(data + SHIFT, data, LENGTH));
        assert_memory_equal(data, expected, SIZE);
    }
    nrt_tensor_free(&tensor);
    free(expected);
}

TEST(device_memory_is_as_large_as_its_stack)
{
    nrt_tensor_t *first, *second, *third;
    nrt_tensor_device_allocation_info_t info;
    size_t half = (size_t)8 << 30;
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, half, "a", &first));
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, half, "b", &second));
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 1, "c", &third),
                     NRT_RESOURCE);
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, 1, "other core", &third));
    OK(nrt_tensor_get_device_allocation_info(second, &info));
    assert_int_equal(info.physical_address, half);
    assert_int_equal(info.size, half);
    assert_int_equal(info.hbm_index, 0);
    void *base;
    size_t size;
    OK(nrt_get_hbm_mmap_va(2, 0, &base, &size)); /* cores 4 and 5 are on chip 2 */
    assert_int_equal(size, 2 * half);
    assert_ptr_equal((uint8_t *)base + half, nrt_tensor_get_va(second));
    uint32_t value = 42, back = 0;
    OK(nrt_memcpy_to_device((uint8_t *)base + half, &value, sizeof value));
    OK(nrt_tensor_read(second, &back, 0, sizeof back));
    assert_int_equal(back, 42);
    nrt_tensor_free(&first);
    assert_int_equal(nrt_memcpy_to_device(base, &value, sizeof value), NRT_INVALID);
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 1, "in the gap", &first));
    OK(nrt_tensor_get_device_allocation_info(first, &info));
    assert_int_equal(info.physical_address, 0);
}

/* Random allocations: none overlaps another, all are zero, and nothing is lost. */
TEST(allocations_do_not_overlap)
{
    enum { MANY = 64 };
    struct {
        nrt_tensor_t *tensor;
        uint64_t from, to;
    } all[MANY] = {{0}};
    struct rng rng = {7};
    for (int step = 0; step < 600; step++) {
        size_t at = rng_below(&rng, MANY);
        if (all[at].tensor) {
            nrt_tensor_free(&all[at].tensor);
            continue;
        }
        size_t size = 1 + rng_below(&rng, 20000);
        nrt_tensor_device_allocation_info_t info;
        OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 5, size, "t", &all[at].tensor));
        OK(nrt_tensor_get_device_allocation_info(all[at].tensor, &info));
        all[at].from = info.physical_address;
        all[at].to = info.physical_address + size;
        for (size_t i = 0; i < MANY; i++)
            assert_true(i == at || !all[i].tensor || all[i].to <= all[at].from ||
                        all[at].to <= all[i].from);
        const uint8_t *bytes = nrt_tensor_get_va(all[at].tensor);
        assert_int_equal(bytes[0] | bytes[size / 2] | bytes[size - 1], 0);
        OK(nrt_tensor_memset(all[at].tensor, 0, 0xFF, size));
    }
    for (size_t i = 0; i < MANY; i++)
        nrt_tensor_free(&all[i].tensor);
    nrt_tensor_t *everything;
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 5, (size_t)16 << 30, "all", &everything));
    nrt_tensor_free(&everything);
}

TEST(batches_and_copies_move_bytes)
{
    nrt_tensor_t *a, *b, *elsewhere;
    uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8] = {0};
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "a", &a));
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, 64, "b", &b));
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 2, 64, "elsewhere", &elsewhere));
    const nrt_tensor_batch_op_t to_a[] = {{0, 4, data}, {60, 4, data + 4}}, to_b = {8, 8, data};
    const nrt_tensor_batch_t writes[] = {{a, to_a, 2}, {b, &to_b, 1}};
    OK(nrt_tensor_write_batch(writes, 2, false));
    OK(nrt_tensor_copy(a, 60, b, 12, 4));
    OK(nrt_tensor_copy(b, 8, a, 32, 8));
    assert_int_equal(nrt_tensor_copy(a, 0, elsewhere, 0, 8), NRT_INVALID);
    OK(nrt_tensor_copy(b, 8, elsewhere, 0, 8));
    const nrt_tensor_batch_op_t from_a[] = {{32, 8, back}};
    const nrt_tensor_batch_t reads[] = {{a, from_a, 1}};
    OK(nrt_tensor_read_batch(reads, 1, true));
    assert_memory_equal(back, data, 8);
    /* Nothing is written when one operation is wrong. */
    const nrt_tensor_batch_op_t wrong[] = {{0, 8, (uint8_t[8]){9}}, {60, 5, data}};
    assert_int_equal(nrt_tensor_write_batch(&(nrt_tensor_batch_t){a, wrong, 2}, 1, false),
                     NRT_INVALID);
    OK(nrt_tensor_read(a, back, 0, 4));
    assert_memory_equal(back, data, 4);
    nrt_tensor_free(&a);
    nrt_tensor_free(&b);
    nrt_tensor_free(&elsewhere);
}

TEST(sets_map_names_to_tensors)
{
    nrt_tensor_set_t *set;
    nrt_tensor_t *a, *b, *found;
    OK(nrt_allocate_tensor_set(&set));
    OK(nrt_tensor_allocate_empty("a", &a));
    OK(nrt_tensor_allocate_empty("b", &b));
    OK(nrt_add_tensor_to_tensor_set(set, "x", a));
    OK(nrt_get_tensor_from_tensor_set(set, "x", &found));
    assert_ptr_equal(found, a);
    OK(nrt_add_tensor_to_tensor_set(set, "x", b));
    OK(nrt_get_tensor_from_tensor_set(set, "x", &found));
    assert_ptr_equal(found, b);
    assert_int_equal(nrt_get_tensor_from_tensor_set(set, "y", &found), NRT_FAILURE);
    nrt_destroy_tensor_set(&set);
    assert_null(set);
    assert_int_equal(nrt_tensor_get_size(b), 0);
    OK(nrt_tensor_attach_buffer(b, &set, sizeof set)); /* still valid */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNTIME_TEST(tensors_keep_what_is_written),
        RUNTIME_TEST(slices_share_memory_that_lives_as_long_as_they),
        RUNTIME_TEST(a_buffer_can_be_a_tensor),
        RUNTIME_TEST(a_buffer_may_overlap_the_tensor),
        RUNTIME_TEST(device_memory_is_as_large_as_its_stack),
        RUNTIME_TEST(allocations_do_not_overlap),
        RUNTIME_TEST(batches_and_copies_move_bytes),
        RUNTIME_TEST(sets_map_names_to_tensors),
    };
    return cmocka_run_group_tests_name("runtime_tensors", tests, NULL, NULL);
}
