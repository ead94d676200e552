/*
 * The runtime used rightly: cores, tensors, models, executions, queues, ranks and profiles, through
 * the public interface of libnrt.
 */
#include "ntff/ntff.h"
#include "runtime_model.h"

#include <nrt/ndebug_stream.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_async_sendrecv.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_profile.h>
#include <nrt/nrt_sys_trace.h>
#include <nrt/nrt_version.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

static int begin(void **state)
{
    int result = machine_make(state);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    return result;
}

static int end(void **state)
{
    nrt_close();
    return machine_remove(state);
}

#define FOREIGN_MODEL      ((nrt_model_t *)(void *)state)
#define RUNTIME_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define OK(call)           assert_int_equal(call, NRT_SUCCESS)

static void assert_sum(const struct loaded *all, float start)
{
    float data[ELEMENTS];
    read_output(all, data);
    for (int i = 0; i < ELEMENTS; i++)
        assert_true(data[i] == start + 2 * (float)i);
}

/* Each execution has an explicit notification with its number, which counts from 1. */
static void assert_notified(const struct ntff *ntff, const struct ntff_execution *executions,
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

static void assert_profile(const char *path, uint32_t first, size_t executions)
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

/* ---- Cores --------------------------------------------------------------------------------- */

TEST(variables_choose_machine_and_cores)
{
    uint32_t total, visible;
    nrt_instance_info_t info;
    OK(nrt_get_total_nc_count(&total));
    OK(nrt_get_visible_vnc_count(&visible));
    assert_int_equal(total, 32);
    assert_int_equal(visible, 8);
    OK(nrt_get_instance_info(&info, sizeof info));
    assert_int_equal(info.family, NRT_INSTANCE_TRN1);
    assert_int_equal(info.size, NRT_INSTANCE_SIZE_32XL);
    assert_string_equal(info.arch_name, "NC_V2");
}

/* This program again, with the argument by which main knows what to do. */
static void exec_init(void)
{
#ifdef KYMO_EMULATOR
    char program[4096];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    program[size > 0 ? size : 0] = '\0';
    execlp(KYMO_EMULATOR, KYMO_EMULATOR, "-0", "init", program, (char *)NULL);
#else
    execl("/proc/self/exe", "init", (char *)NULL);
#endif
}

/* Runs in a child, so that the runtime is not initialised and the cores are another process's. */
static int init_in_child(const char *variable, const char *value)
{
    pid_t child = fork();
    if (child == 0) {
        setenv(variable, value, 1);
        exec_init();
        _exit(99);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_core_belongs_to_one_process)
{
    assert_int_equal(init_in_child("NEURON_RT_VISIBLE_CORES", "11"), NRT_LOAD_NOT_ENOUGH_NC);
    assert_int_equal(init_in_child("NEURON_RT_VISIBLE_CORES", "3,4"), NRT_LOAD_NOT_ENOUGH_NC);
    assert_int_equal(init_in_child("NEURON_RT_VISIBLE_CORES", "12-31"), NRT_SUCCESS);
    assert_int_equal(init_in_child("KYMO_NEURON_INSTANCE", "inf2.48xlarge"), NRT_SUCCESS);
    assert_int_equal(init_in_child("KYMO_NEURON_INSTANCE", "trn9"), NRT_INVALID);
    assert_int_equal(init_in_child("NEURON_RT_VISIBLE_CORES", "0,2"), NRT_INVALID);
    assert_int_equal(init_in_child("NEURON_RT_VISIBLE_CORES", "31-32"), NRT_INVALID);
    assert_int_equal(init_in_child("NEURON_RT_EXEC_TIMEOUT", "soon"), NRT_INVALID);
    assert_int_equal(init_in_child("NEURON_LOGICAL_NC_CONFIG", "3"), NRT_INVALID);
    unsetenv("NEURON_RT_VISIBLE_CORES");
    assert_int_equal(init_in_child("NEURON_RT_NUM_CORES", "20"), NRT_SUCCESS);
    assert_int_equal(init_in_child("NEURON_RT_NUM_CORES", "21"), NRT_LOAD_NOT_ENOUGH_NC);
    assert_int_equal(init_in_child("NEURON_RT_NUM_CORES", "33"), NRT_INVALID);
    assert_int_equal(init_in_child("NEURON_RT_NUM_CORES", "0"), NRT_LOAD_NOT_ENOUGH_NC);
    nrt_close();
    assert_int_equal(init_in_child("NEURON_RT_NUM_CORES", "0"), NRT_SUCCESS);
}

TEST(a_forked_process_has_no_runtime)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct loaded all = load_small(neff, 0);
    struct scratch_name path = scratch_name(state, "a.ntff");
    OK(nrt_profile_start(all.model, path.path));
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        nrt_instance_info_t info;
        bool right = nrt_get_instance_info(&info, sizeof info) == NRT_UNINITIALIZED &&
                     nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_FAILURE;
        exit(right ? 0 : 1); /* leaves the parent's profile alone */
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    OK(nrt_profile_stop(path.path));
    assert_profile(path.path, 1, 2);
    free(neff.bytes);
    /* The parent's cores are still its own. */
    assert_int_equal(init_in_child("NEURON_RT_VISIBLE_CORES", "4"), NRT_LOAD_NOT_ENOUGH_NC);
}

/* ---- Tensors ------------------------------------------------------------------------------- */

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

/* ---- Models -------------------------------------------------------------------------------- */

TEST(a_model_computes)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct loaded all = load_small(neff, 2);
    memset(neff.bytes, 0, neff.size); /* the runtime has its own copy */
    write_input(&all, 0.5f);
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    assert_sum(&all, 0.5f);
    write_input(&all, -3);
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    assert_sum(&all, -3);
    OK(nrt_tensor_check_output_completion(all.output, 0, 2));
    assert_int_equal(nrt_tensor_check_output_completion(all.output, 1000, 3), NRT_TIMEOUT);
    OK(nrt_tensor_reset_output_completion(all.output));
    assert_int_equal(nrt_tensor_check_output_completion(all.output, 0, 1), NRT_TIMEOUT);
    unload_small(&all);
    free(neff.bytes);
}

/* A change that no checksum of a program or weight tells. */
TEST(the_hash_is_validated_on_request)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    uint8_t *producer = memmem(neff.bytes, neff.size, "\"producer\"", 10);
    nrt_model_t *model;
    assert_non_null(producer);
    producer[1] = 'q';
    OK(nrt_load(neff.bytes, neff.size, 2, -1, &model));
    OK(nrt_unload(model));
    nrt_close();
    setenv("NEURON_RT_VALIDATE_HASH", "1", 1);
    OK(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
    assert_int_equal(nrt_load(neff.bytes, neff.size, 2, -1, &model), NRT_INVALID);
    producer[1] = 'p';
    OK(nrt_load(neff.bytes, neff.size, 2, -1, &model));
    OK(nrt_unload(model));
    unsetenv("NEURON_RT_VALIDATE_HASH");
    free(neff.bytes);
}

TEST(a_model_tells_what_it_is)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct loaded all = load_small(neff, 6);
    uint32_t count = 0;
    nrt_model_info_t info;
    nrt_tensor_info_array_t *tensors;
    size_t written = 0;
    OK(nrt_get_model_nc_count(all.model, &count));
    assert_int_equal(count, 1);
    OK(nrt_get_model_vnc_count(all.model, &count));
    OK(nrt_get_model_instance_count(all.model, &count));
    assert_int_equal(count, 1);
    OK(nrt_get_model_info(all.model, &info, sizeof info, &written));
    assert_int_equal(info.vnc, 6);
    assert_int_equal(written, sizeof info);
    OK(nrt_get_model_tensor_info(all.model, &tensors));
    assert_int_equal(tensors->tensor_count, 2);
    for (unsigned i = 0; i < 2; i++) {
        const nrt_tensor_info_t *tensor = &tensors->tensor_array[i];
        assert_string_equal(tensor->name, i == 0 ? "input0" : "output0");
        assert_int_equal(tensor->usage, i);
        assert_int_equal(tensor->size, TENSOR_BYTES);
        assert_int_equal(tensor->dtype, NRT_DTYPE_FLOAT32);
        assert_int_equal(tensor->ndim, 2);
        assert_int_equal(tensor->shape[0], ROWS);
        assert_int_equal(tensor->shape[1], COLUMNS);
    }
    OK(nrt_free_model_tensor_info(tensors));
    assert_int_equal(nrt_free_model_tensor_info(tensors), NRT_INVALID_HANDLE);
    unload_small(&all);
    free(neff.bytes);
}

TEST(models_take_the_core_with_fewest)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    nrt_model_t *models[10];
    for (uint32_t i = 0; i < COUNT_OF(models); i++) {
        nrt_model_info_t info;
        OK(nrt_load(neff.bytes, neff.size, -1, i % 2 ? 1 : -1, &models[i]));
        OK(nrt_get_model_info(models[i], &info, sizeof info, NULL));
        assert_int_equal(info.vnc, i % 8);
    }
    for (uint32_t i = 0; i < COUNT_OF(models); i++)
        OK(nrt_unload(models[i]));
    free(neff.bytes);
}

TEST(outputs_become_inputs_when_repeated)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct loaded all = load_small(neff, 0);
    float data[ELEMENTS], before[ELEMENTS];
    write_input(&all, 1);
    OK(nrt_execute_repeat(all.model, all.inputs, all.outputs, 5));
    read_output(&all, data);
    OK(nrt_tensor_read(all.input, before, 0, TENSOR_BYTES));
    for (int i = 0; i < ELEMENTS; i++) {
        assert_true(data[i] == 1 + 6 * (float)i);
        assert_true(before[i] == 1 + (float)i); /* the input is as it was */
    }
    unload_small(&all);
    free(neff.bytes);
}

TEST(logical_cores_have_two_physical_ones)
{
    nrt_close();
    setenv("KYMO_NEURON_INSTANCE", "trn2.48xlarge", 1);
    OK(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
    uint32_t total;
    OK(nrt_get_total_vnc_count(&total));
    assert_int_equal(total, 64);
    struct small_neff one = small_neff((struct small_options){.alu = ALU_ADD, .core_version = 3});
    struct small_neff two =
        small_neff((struct small_options){.alu = ALU_ADD, .core_version = 3, .programs = 2});
    nrt_model_t *model;
    assert_int_equal(nrt_load(one.bytes, one.size, 0, -1, &model), NRT_INVALID);
    struct loaded all = load_small(two, 3);
    nrt_tensor_t *second;
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 3, TENSOR_BYTES, "out1", &second));
    OK(nrt_add_tensor_to_tensor_set(all.outputs, "output1", second));
    write_input(&all, 7);
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    assert_sum(&all, 7);
    assert_sum(&(struct loaded){.output = second}, 7);
    nrt_tensor_free(&second);
    unload_small(&all);
    free(one.bytes);
    free(two.bytes);
}

TEST(loading_and_unloading_leaves_nothing)
{
    enum { LOADS = IS_SANITIZED ? 300 : 10000, WARM_UP = LOADS / 10 };
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    size_t before = 0;
    for (int i = 0; i < LOADS; i++) {
        struct loaded all = load_small(neff, i % 8);
        if (i % 100 == 0)
            OK(nrt_execute(all.model, all.inputs, all.outputs));
        unload_small(&all);
        before = i == WARM_UP ? memory_bytes() : before;
    }
    if (!IS_SANITIZED)
        assert_true(memory_bytes() < before + (1 << 20));
    for (uint32_t i = 0; i < 8; i++) {
        nrt_vnc_memory_stats_t stats;
        OK(nrt_get_vnc_memory_stats(i, &stats, sizeof stats, NULL));
        assert_int_equal(stats.bytes_used, 0);
    }
    free(neff.bytes);
}

/* ---- Threads ------------------------------------------------------------------------------- */

struct worker {
    struct small_neff neff;
    int vnc, executions;
    bool right;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct loaded all = load_small(worker->neff, worker->vnc);
    worker->right = true;
    for (int i = 0; i < worker->executions; i++) {
        float data[ELEMENTS];
        write_input(&all, (float)(i * worker->vnc));
        OK(nrt_execute(all.model, all.inputs, all.outputs));
        read_output(&all, data);
        for (int k = 0; k < ELEMENTS; k++)
            worker->right = worker->right && data[k] == (float)(i * worker->vnc) + 2 * (float)k;
    }
    unload_small(&all);
    return NULL;
}

TEST(cores_work_at_the_same_time_and_a_busy_one_queues)
{
    enum { WORKERS = 12 };
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.neff = neff, .vnc = i % 8, .executions = 30};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(workers[i].right);
    }
    free(neff.bytes);
}

/* ---- Queues -------------------------------------------------------------------------------- */

static void wait_for(nrta_seq_t sequence)
{
    int fd;
    OK(nrta_get_completion_handle(sequence, &fd));
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&poller, 1, 60000), 1);
    close(fd);
    bool done = false;
    OK(nrta_is_completed(sequence, &done));
    assert_true(done);
}

TEST(requests_complete_in_order)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct loaded all = load_small(neff, 1);
    float data[ELEMENTS], back[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        data[i] = (float)i;
    int every = eventfd(0, EFD_NONBLOCK), once = eventfd(0, EFD_NONBLOCK);
    OK(nrta_event_register_xu_completion(1, NRTA_XU_TENSOR_OP, 1, every));
    nrta_seq_t writes, executes, reads, copies, last;
    OK(nrta_get_sequence(1, NRTA_XU_COMPUTE, 0, &last));
    assert_int_equal(NRTA_SEQ_GET_SEQ_NUM(last), 0);
    OK(nrta_tensor_write(all.input, data, 0, TENSOR_BYTES, 1, NULL, &writes));
    wait_for(writes);
    OK(nrta_execute_schedule(all.model, all.inputs, all.outputs, 0, NULL, &executes));
    OK(nrta_event_register_seq_id_completion(executes, once));
    wait_for(executes);
    OK(nrta_tensor_copy(all.output, 0, all.input, 0, TENSOR_BYTES, 1, NULL, &copies));
    OK(nrta_tensor_read(back, all.input, 0, TENSOR_BYTES, 1, NULL, &reads));
    assert_int_equal(NRTA_SEQ_GET_XU_ID(reads), NRTA_SEQ_GET_XU_ID(writes));
    assert_true(reads > copies && copies > writes);
    wait_for(reads);
    for (int i = 0; i < ELEMENTS; i++)
        assert_true(back[i] == 2 * (float)i);
    OK(nrta_get_sequence(1, NRTA_XU_COMPUTE, 0, &last));
    assert_true(last == executes);
    uint64_t count = 0;
    assert_int_equal(read(every, &count, sizeof count), sizeof count);
    assert_int_equal(count, 3);
    assert_int_equal(read(once, &count, sizeof count), sizeof count);
    assert_int_equal(count, 1);
    OK(nrta_event_register_xu_completion(1, NRTA_XU_TENSOR_OP, 1, -1));
    close(every);
    close(once);
    unload_small(&all);
    free(neff.bytes);
}

struct called {
    atomic_int count;
    NRT_STATUS last;
};

static void count_call(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
                       NRT_STATUS status)
{
    struct called *called = params;
    assert_true(model_id > 0 && job_id > 0);
    assert_int_equal(vnc, 0);
    called->last = status;
    atomic_fetch_add(&called->count, 1);
}

TEST(a_full_queue_says_so)
{
    struct small_neff neff = small_neff((struct small_options){.workers = 2});
    nrt_model_t *model;
    /* Its other rank never comes: it stays in the queue until nrt_close. */
    OK(nrt_load_collectives(neff.bytes, neff.size, 0, -1, 0, 2, &model));
    struct loaded all = load_with(model, 0);
    nrta_seq_t first = 0, sequence;
    NRT_STATUS status = NRT_SUCCESS;
    int accepted = 0;
    while (status == NRT_SUCCESS && accepted < 1000) {
        status = nrta_execute_schedule(all.model, all.inputs, all.outputs, 0, NULL, &sequence);
        first = first ? first : sequence;
        accepted += status == NRT_SUCCESS;
    }
    assert_int_equal(status, NRT_QUEUE_FULL);
    assert_true(accepted > 1);
    bool done = true;
    OK(nrta_is_completed(first, &done));
    assert_false(done);
    nrt_close();
    assert_int_equal(nrta_is_completed(first, &done), NRT_CLOSED);
    free(neff.bytes);
}

TEST(a_tracker_lists_requests_that_failed)
{
    nrt_close();
    setenv("NEURON_FAIL_ON_NAN", "1", 1);
    OK(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
    unsetenv("NEURON_FAIL_ON_NAN");
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_DIVIDE});
    struct loaded all = load_small(neff, 0);
    nrta_error_tracker_t *tracker;
    const nrta_error_t *list;
    size_t count;
    nrta_seq_t sequence;
    struct called called = {0};
    OK(nrt_register_async_exec_callback(count_call, &called));
    OK(nrta_error_tracker_create(0, &tracker));
    write_input(&all, 1); /* 1 / 0 */
    OK(nrta_execute_schedule(all.model, all.inputs, all.outputs, 0, tracker, &sequence));
    OK(nrt_async_drain_queued_execs(0));
    assert_int_equal(called.count, 1);
    assert_int_equal(called.last, NRT_EXEC_COMPLETED_WITH_NUM_ERR);
    OK(nrt_register_async_exec_callback(NULL, NULL));
    OK(nrta_error_tracker_get_list(tracker, &list, &count));
    assert_int_equal(count, 1);
    assert_true(list[0].seq_id == sequence);
    assert_int_equal(list[0].error_code, NRT_EXEC_COMPLETED_WITH_NUM_ERR);
    OK(nrta_error_tracker_get_list(tracker, &list, &count));
    assert_int_equal(count, 0);
    nrta_error_tracker_destroy(tracker);
    assert_int_equal(nrta_error_tracker_get_list(tracker, &list, &count), NRT_INVALID_HANDLE);
    assert_int_equal(nrt_execute(all.model, all.inputs, all.outputs),
                     NRT_EXEC_COMPLETED_WITH_NUM_ERR);
    unload_small(&all);
    free(neff.bytes);
}

/* ---- Ranks --------------------------------------------------------------------------------- */

struct rank_work {
    struct small_neff neff;
    uint32_t rank, count;
    NRT_STATUS status;
    float got[ELEMENTS];
    uint32_t gathered[NRT_MODEL_RANKS_MAX];
};

static void *rank_main(void *argument)
{
    struct rank_work *rank = argument;
    nrt_model_t *model;
    OK(nrt_load_collectives(rank->neff.bytes, rank->neff.size, (int)rank->rank, -1, rank->rank,
                            rank->count, &model));
    struct loaded all = load_with(model, (int)rank->rank);
    uint32_t mine = 100 + rank->rank;
    OK(nrt_all_gather((int)rank->rank, rank->rank, rank->count, sizeof mine, &mine,
                      rank->gathered));
    for (int i = 0; i < 3; i++) {
        write_input(&all, (float)(rank->rank + 1) * (float)(i + 1));
        rank->status = nrt_execute(all.model, all.inputs, all.outputs);
        OK(nrt_barrier((int)rank->rank, rank->rank, rank->count));
    }
    read_output(&all, rank->got);
    unload_small(&all);
    return NULL;
}

TEST(ranks_exchange_data)
{
    enum { RANKS = 8 };
    struct small_neff neff = small_neff((struct small_options){.workers = RANKS});
    static struct rank_work ranks[RANKS];
    pthread_t threads[RANKS];
    for (uint32_t i = 0; i < RANKS; i++) {
        ranks[i] = (struct rank_work){.neff = neff, .rank = i, .count = RANKS};
        assert_int_equal(pthread_create(&threads[i], NULL, rank_main, &ranks[i]), 0);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(ranks[i].status, NRT_SUCCESS);
        for (int k = 0; k < ELEMENTS; k++)
            assert_true(ranks[i].got[k] == 3 * 36 + RANKS * (float)k);
        for (uint32_t k = 0; k < RANKS; k++)
            assert_int_equal(ranks[i].gathered[k], 100 + k);
    }
    free(neff.bytes);
}

struct cc_work {
    uint32_t rank;
    nrt_dtype_t dtype;
    nrt_op_type_t op;
    nrt_cc_op_type_t kind;
    nrt_tensor_t *in, *out;
};

static void *cc_main(void *argument)
{
    struct cc_work *cc = argument;
    uint32_t group[] = {0, 1, 2, 3};
    nrt_cc_comm_t comm = {.replica_group = group,
                          .rank = cc->rank,
                          .rank_n = 4,
                          .ctx_device_id = cc->rank,
                          .ctx_device_count = 4,
                          .vnc = cc->rank};
    nrt_tensor_list_t in = {&cc->in, 1}, out = {&cc->out, 1};
    nrt_cc_context_t *context;
    nrta_seq_t sequence;
    OK(nrt_cc_global_comm_init(cc->rank, cc->rank, 4));
    OK(nrta_cc_prepare(&comm, &in, &out, cc->dtype, cc->op, cc->kind, &context));
    OK(nrta_cc_schedule(&context, 2, NULL, &sequence));
    assert_null(context);
    wait_for(sequence);
    return NULL;
}

static void run_cc(nrt_cc_op_type_t kind, nrt_op_type_t op, const int32_t *in, size_t in_count,
                   size_t out_count, int32_t *out)
{
    struct cc_work ranks[4];
    pthread_t threads[4];
    for (uint32_t i = 0; i < 4; i++) {
        ranks[i] = (struct cc_work){i, NRT_DTYPE_INT32, op, kind, NULL, NULL};
        OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)i, in_count * 4, "i",
                               &ranks[i].in));
        OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)i, out_count * 4, "o",
                               &ranks[i].out));
        OK(nrt_tensor_write(ranks[i].in, in + i * in_count, 0, in_count * 4));
        assert_int_equal(pthread_create(&threads[i], NULL, cc_main, &ranks[i]), 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        OK(nrt_tensor_read(ranks[i].out, out + i * out_count, 0, out_count * 4));
        nrt_tensor_free(&ranks[i].in);
        nrt_tensor_free(&ranks[i].out);
    }
}

TEST(collectives_can_be_scheduled)
{
    int32_t in[4][8], out[4][32];
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < 8; i++)
            in[r][i] = (r + 1) * (i % 2 ? -i : i);
    run_cc(NRT_CC_ALLREDUCE, NRT_OP_ADD, in[0], 8, 8, out[0]);
    for (int i = 0; i < 32; i++)
        assert_int_equal(out[0][i], in[0][i % 8] * 10);
    run_cc(NRT_CC_ALLREDUCE, NRT_OP_MAX, in[0], 8, 8, out[0]);
    for (int i = 0; i < 32; i++)
        assert_int_equal(out[0][i], in[0][i % 8] * (i % 2 ? 1 : 4));
    run_cc(NRT_CC_ALLGATHER, NRT_OP_INVALID, in[0], 8, 32, out[0]);
    for (int r = 0; r < 4; r++)
        assert_memory_equal(out[r], in, sizeof in);
    run_cc(NRT_CC_REDUCESCATTER, NRT_OP_MIN, in[0], 8, 2, out[0]);
    for (int i = 0; i < 8; i++)
        assert_int_equal(out[0][i], in[0][i] * (i % 2 ? 4 : 1));
}

TEST(cores_send_and_receive)
{
    nrt_async_sendrecv_comm_t *sender, *receiver;
    nrt_async_sendrecv_request_t *send, *receive;
    nrt_tensor_t *from, *to;
    bool done = true;
    size_t size = 0;
    uint8_t data[64], back[64];
    for (int i = 0; i < 64; i++)
        data[i] = (uint8_t)(i * 3);
    OK(nrt_async_sendrecv_init(0));
    OK(nrt_async_sendrecv_init(5));
    OK(nrt_async_sendrecv_connect("127.0.0.1", 5, 0, &sender));
    OK(nrt_async_sendrecv_test_comm(sender, &done));
    assert_false(done);
    OK(nrt_async_sendrecv_accept("localhost", 0, 5, &receiver));
    OK(nrt_async_sendrecv_test_comm(sender, &done));
    assert_true(done);
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "from", &from));
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 5, 64, "to", &to));
    OK(nrt_tensor_write(from, data, 0, 64));
    OK(nrt_async_sendrecv_recv_tensor(to, 0, 64, receiver, &receive));
    OK(nrt_async_sendrecv_test_request(receive, &done, &size));
    assert_false(done);
    OK(nrt_async_sendrecv_send_tensor(from, 16, 48, sender, &send));
    OK(nrt_async_sendrecv_test_request(receive, &done, &size));
    assert_true(done);
    assert_int_equal(size, 48);
    assert_int_equal(nrt_async_sendrecv_test_request(receive, &done, &size), NRT_INVALID_HANDLE);
    OK(nrt_async_sendrecv_test_request(send, &done, NULL));
    assert_true(done);
    OK(nrt_async_sendrecv_flush(5));
    OK(nrt_tensor_read(to, back, 0, 48));
    assert_memory_equal(back, data + 16, 48);
    OK(nrt_async_sendrecv_send_tensor(from, 0, 64, sender, &send));
    OK(nrt_async_sendrecv_close(5)); /* the message will not arrive */
    assert_int_equal(nrt_async_sendrecv_test_request(send, &done, &size), NRT_FAILURE);
    OK(nrt_async_sendrecv_close(0));
    assert_int_equal(nrt_async_sendrecv_test_comm(sender, &done), NRT_INVALID_HANDLE);
    OK(nrt_async_sendrecv_init(5));
    nrt_close();
    OK(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
    OK(nrt_async_sendrecv_init(5)); /* everything begins anew */
}

/* ---- Streams, traces, profiles -------------------------------------------------------------- */

TEST(a_core_has_one_debug_client)
{
    int fd, other;
    void *payload;
    ndebug_stream_event_header_t header;
    OK(nrt_debug_client_connect(0, &fd));
    assert_int_equal(nrt_debug_client_connect(0, &other), NRT_RESOURCE);
    assert_int_equal(nrt_debug_client_read_one_event(fd, &header, &payload), NRT_QUEUE_EMPTY);
    nrt_debug_client_connect_close(fd);
    OK(nrt_debug_client_connect(0, &fd));
    nrt_debug_client_connect_close(fd);
}

static size_t occurrences(const char *text, const char *word)
{
    size_t count = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        count++;
    return count;
}

TEST(executions_are_traced)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct loaded all = load_small(neff, 3);
    struct scratch_name path = scratch_name(state, "trace.json");
    OK(nrt_trace_start(true));
    write_input(&all, 0);
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    OK(nrt_trace_stop(path.path));
    size_t size;
    char *text = read_whole_file(path.path, &size);
    static const struct {
        const char *type;
        size_t count;
    } expected[] = {{"nrt_execute", 4},      {"nrt_model_submit", 4},    {"kbl_exec_pre", 4},
                    {"kmgr_exec_core", 4},   {"kbl_exec_wait", 4},       {"kbl_exec_post", 4},
                    {"nc_exec_running", 4},  {"nrt_tensor_write", 2},    {"dmem_buf_copyin", 2},
                    {"nrt_model_switch", 1}, {"timestamp_sync_point", 2}};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        char word[64];
        snprintf(word, sizeof word, "\"event_type\":\"%s\"", expected[i].type);
        if (occurrences(text, word) != expected[i].count)
            fail_msg("%s: %zu events", expected[i].type, occurrences(text, word));
    }
    assert_int_equal(occurrences(text, "\"nc_idx\":3"), occurrences(text, "\"nc_idx\""));
    assert_int_equal(nrt_trace_stop(path.path), NRT_UNINITIALIZED);
    free(text);
    unload_small(&all);
    free(neff.bytes);
}

TEST(profiles_of_models_are_files)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct loaded a = load_small(neff, 0), b = load_small(neff, 1);
    struct scratch_name first = scratch_name(state, "a.ntff"), second = scratch_name(state, "b.x");
    OK(nrt_profile_start(a.model, first.path));
    assert_int_equal(nrt_profile_start(a.model, second.path), NRT_FAILURE);
    assert_int_equal(nrt_profile_start(b.model, first.path), NRT_FAILURE);
    assert_int_equal(nrt_profile_start(FOREIGN_MODEL, second.path), NRT_INVALID_HANDLE);
    OK(nrt_profile_start(b.model, second.path));
    assert_int_equal(nrt_profile_stop("other"), NRT_INVALID);
    for (int i = 0; i < 3; i++)
        OK(nrt_execute(a.model, a.inputs, a.outputs));
    OK(nrt_execute(b.model, b.inputs, b.outputs));
    OK(nrt_profile_stop(first.path));
    OK(nrt_execute(a.model, a.inputs, a.outputs));
    OK(nrt_profile_stop(second.path));
    assert_int_equal(nrt_profile_stop(second.path), NRT_UNINITIALIZED);
    assert_profile(first.path, 1, 3);
    assert_profile(second.path, 1, 1);
    assert_int_equal(nrt_profile_start(a.model, "/nowhere/a.ntff"), NRT_FAILURE);
    OK(nrt_profile_start(a.model, first.path)); /* truncates */
    OK(nrt_execute(a.model, a.inputs, a.outputs));
    nrt_close();
    assert_profile(first.path, 5, 1);
    assert_int_equal(nrt_profile_stop(first.path), NRT_CLOSED);
    free(neff.bytes);
}

TEST(continuous_profiles_are_saved_on_request)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct loaded all = load_small(neff, 2);
    struct scratch_name output = scratch_name(state, "output");
    nrt_profile_continuous_options_t *options;
    OK(nrt_profile_continuous_options_allocate(&options));
    OK(nrt_profile_continuous_options_set_output_dir(options, output.path));
    OK(nrt_profile_continuous_start(options));
    assert_int_equal(nrt_profile_continuous_save(2, options), NRT_FAILURE); /* nothing ran */
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    OK(nrt_execute(all.model, all.inputs, all.outputs));
    OK(nrt_profile_continuous_save(2, options));
    OK(nrt_profile_continuous_save(2, options));
    assert_int_equal(nrt_profile_continuous_save(8, options), NRT_INVALID);
    OK(nrt_profile_continuous_stop());
    OK(nrt_profile_continuous_options_free(options));
    unsigned profiles = 0, neffs = 0;
    DIR *folder = opendir(output.path);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", output.path, entry->d_name);
        neffs += strncmp(entry->d_name, "neff_", 5) == 0;
        if (!strstr(entry->d_name, "_vnc_2.ntff"))
            continue;
        assert_profile(path, 2, 1);
        profiles++;
    }
    closedir(folder);
    assert_int_equal(profiles, 2);
    assert_int_equal(neffs, 1);
    unload_small(&all);
    free(neff.bytes);
}

/* The file of a session's core, in the only directory of the session. */
static void session_file(char path[static 1024], const char *output, const char *name)
{
    DIR *folder = opendir(output);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (strstr(entry->d_name, "_pid_"))
            snprintf(path, 1024, "%s/%s/%s", output, entry->d_name, name);
    closedir(folder);
}

TEST(the_file_of_a_session_names_all_models)
{
    static const uint32_t used[] = {0, 0, 1, 0, 1};
    struct small_neff one = small_neff((struct small_options){.alu = ALU_ADD, .name = "one"});
    struct small_neff two = small_neff((struct small_options){.alu = ALU_MULTIPLY, .name = "two"});
    struct loaded models[] = {load_small(one, 2), load_small(two, 2)};
    struct scratch_name output = scratch_name(state, "output");
    struct error err;
    char path[1024] = "";
    size_t count;
    setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
    setenv("NEURON_RT_INSPECT_DEVICE_PROFILE", "session", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", output.path, 1);
    OK(nrt_inspect_begin());
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        OK(nrt_execute(models[used[i]].model, models[used[i]].inputs, models[used[i]].outputs));
    OK(nrt_inspect_stop());
    unsetenv("NEURON_RT_INSPECT_ENABLE");
    unsetenv("NEURON_RT_INSPECT_DEVICE_PROFILE");
    unsetenv("NEURON_RT_INSPECT_OUTPUT_DIR");
    session_file(path, output.path, "profile_nc_2_session_1.ntff");
    assert_profile(path, 1, sizeof used / sizeof *used);
    struct ntff *ntff = ntff_open(path, &err);
    assert_non_null(ntff);
    const struct ntff_neff *neffs = ntff_neffs(ntff, &count);
    assert_int_equal(count, 2);
    assert_string_equal(neffs[0].name, "one");
    assert_string_equal(neffs[1].name, "two");
    assert_true(memcmp(neffs[0].uuid, neffs[1].uuid, sizeof neffs->uuid) != 0);
    const struct ntff_execution *executions = ntff_executions(ntff, &count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(executions[i].neff, used[i]);
    ntff_close(ntff);
    for (size_t i = 0; i < 2; i++)
        unload_small(&models[i]);
    free(one.bytes);
    free(two.bytes);
}

TEST(calls_after_close_and_a_new_beginning)
{
    nrt_tensor_t *tensor;
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", &tensor));
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_FAILURE);
    nrt_close();
    nrt_close();
    uint8_t byte;
    assert_int_equal(nrt_tensor_read(tensor, &byte, 0, 1), NRT_CLOSED);
    OK(nrt_init(NRT_FRAMEWORK_TYPE_PYTORCH, "2.9", "1.0"));
    assert_int_equal(nrt_tensor_read(tensor, &byte, 0, 1), NRT_INVALID_HANDLE);
    nrt_tensor_free(&tensor);
}

static void *close_main(void *argument)
{
    usleep(*(const unsigned *)argument);
    nrt_close();
    return NULL;
}

TEST(close_ends_what_waits)
{
    struct small_neff neff = small_neff((struct small_options){.workers = 2});
    nrt_model_t *model;
    OK(nrt_load_collectives(neff.bytes, neff.size, 0, -1, 1, 2, &model));
    struct loaded all = load_with(model, 0);
    pthread_t closer;
    unsigned delay_us = 20000;
    assert_int_equal(pthread_create(&closer, NULL, close_main, &delay_us), 0);
    NRT_STATUS status = nrt_execute(all.model, all.inputs, all.outputs);
    assert_true(status == NRT_CLOSED || status == NRT_EXEC_HW_ERR_COLLECTIVES);
    pthread_join(closer, NULL);
    free(neff.bytes);
}

int main(int count, char **arguments)
{
    if (count > 0 && strcmp(arguments[0], "init") == 0)
        return (int)nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
    const struct CMUnitTest tests[] = {
        RUNTIME_TEST(variables_choose_machine_and_cores),
        RUNTIME_TEST(a_core_belongs_to_one_process),
        RUNTIME_TEST(a_forked_process_has_no_runtime),
        RUNTIME_TEST(tensors_keep_what_is_written),
        RUNTIME_TEST(slices_share_memory_that_lives_as_long_as_they),
        RUNTIME_TEST(a_buffer_can_be_a_tensor),
        RUNTIME_TEST(device_memory_is_as_large_as_its_stack),
        RUNTIME_TEST(allocations_do_not_overlap),
        RUNTIME_TEST(batches_and_copies_move_bytes),
        RUNTIME_TEST(sets_map_names_to_tensors),
        RUNTIME_TEST(a_model_computes),
        RUNTIME_TEST(the_hash_is_validated_on_request),
        RUNTIME_TEST(a_model_tells_what_it_is),
        RUNTIME_TEST(models_take_the_core_with_fewest),
        RUNTIME_TEST(outputs_become_inputs_when_repeated),
        RUNTIME_TEST(logical_cores_have_two_physical_ones),
        RUNTIME_TEST(loading_and_unloading_leaves_nothing),
        RUNTIME_TEST(cores_work_at_the_same_time_and_a_busy_one_queues),
        RUNTIME_TEST(requests_complete_in_order),
        RUNTIME_TEST(a_full_queue_says_so),
        RUNTIME_TEST(a_tracker_lists_requests_that_failed),
        RUNTIME_TEST(ranks_exchange_data),
        RUNTIME_TEST(collectives_can_be_scheduled),
        RUNTIME_TEST(cores_send_and_receive),
        RUNTIME_TEST(a_core_has_one_debug_client),
        RUNTIME_TEST(executions_are_traced),
        RUNTIME_TEST(profiles_of_models_are_files),
        RUNTIME_TEST(continuous_profiles_are_saved_on_request),
        RUNTIME_TEST(the_file_of_a_session_names_all_models),
        RUNTIME_TEST(calls_after_close_and_a_new_beginning),
        RUNTIME_TEST(close_ends_what_waits),
    };
    return cmocka_run_group_tests_name("runtime", tests, NULL, NULL);
}
