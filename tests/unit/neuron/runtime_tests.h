/*
 * Shared by the tests that use the runtime rightly, through the public interface of libnrt.
 */
#ifndef KYMO_UNIT_RUNTIME_TESTS_H
#define KYMO_UNIT_RUNTIME_TESTS_H

#include "neuron/profile_file/ntff.h"
#include "runtime_model.h"

static inline int begin(void **state)
{
    int result = machine_make(state);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    return result;
}

static inline int end(void **state)
{
    nrt_close();
    return machine_remove(state);
}

#define RUNTIME_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define OK(call)           assert_int_equal(call, NRT_SUCCESS)

static inline void assert_sum(const struct loaded *all, float start)
{
    float data[ELEMENTS];
    read_output(all, data);
    for (int i = 0; i < ELEMENTS; i++)
        assert_true(data[i] == start + 2 * (float)i);
}

/* Each execution has an explicit notification with its number, which counts from 1. */
static inline void assert_notified(const struct ntff *ntff, const struct ntff_execution *executions,
                                   size_t count)
{
    struct error err;
    size_t block_count, found = 0;
    const struct ntff_block *blocks = ntff_blocks(ntff, &block_count);
    for (size_t i = 0; i < block_count; i++)
        if (blocks[i].type == NOTIFICATION_NOTIFY) {
            struct notification *items = malloc(blocks[i].count * sizeof *items);
            assert_true(ntff_read_block(ntff, i, items, &err));
            assert_true(found < count);
            assert_int_equal(blocks[i].execution, executions[found].index);
            assert_int_equal(blocks[i].neff, executions[found].neff);
            assert_int_equal(items[0].value, executions[found++].index);
            free(items);
        }
    assert_int_equal(found, count);
}

static inline void assert_profile(const char *path, uint32_t first, size_t executions)
{
    struct error err;
    size_t count, blocks;
    struct ntff *ntff = ntff_open(path, &err);
    if (!ntff)
        fail_msg("%s: %s", path, err.text);
    const struct ntff_header *header = ntff_header(ntff);
    assert_true(header->is_simulation && header->computed);
    assert_int_equal(header->ticks_per_us, 5600);
    assert_string_equal(header->instance_type, "trn1.32xlarge");
    const struct ntff_execution *all = ntff_executions(ntff, &count);
    assert_int_equal(count, executions);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(all[i].status, NRT_SUCCESS);
        assert_true(all[i].end_ticks > all[i].start_ticks);
        assert_int_equal(all[i].index, first + i);
    }
    assert_notified(ntff, all, count);
    ntff_blocks(ntff, &blocks);
    assert_true(blocks > 0);
    assert_false(ntff_is_partial(ntff));
    ntff_close(ntff);
}

#endif
