/*
 * The runtime used rightly: cores, models, threads, its end.
 */
#include "runtime_tests.h"

#include <nrt/nrt_experimental.h>
#include <nrt/nrt_profile.h>
#include <pthread.h>
#include <sys/wait.h>

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

/* Runs in a child, so that the runtime is not initialized and the cores are another process's. */
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

/* ---- The end ------------------------------------------------------------------------------- */

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
        RUNTIME_TEST(a_model_computes),
        RUNTIME_TEST(the_hash_is_validated_on_request),
        RUNTIME_TEST(a_model_tells_what_it_is),
        RUNTIME_TEST(models_take_the_core_with_fewest),
        RUNTIME_TEST(outputs_become_inputs_when_repeated),
        RUNTIME_TEST(logical_cores_have_two_physical_ones),
        RUNTIME_TEST(loading_and_unloading_leaves_nothing),
        RUNTIME_TEST(cores_work_at_the_same_time_and_a_busy_one_queues),
        RUNTIME_TEST(calls_after_close_and_a_new_beginning),
        RUNTIME_TEST(close_ends_what_waits),
    };
    return cmocka_run_group_tests_name("runtime", tests, NULL, NULL);
}
