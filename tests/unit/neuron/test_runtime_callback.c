/*
 * What a program may do beside nrt_close and in the callback of asynchronous executions: nothing
 * waits for ever. A hang is ended by an alarm.
 */
#include "runtime_tests.h"

#include <nrt/ndebug_stream.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_async_sendrecv.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_profile.h>
#include <nrt/nrt_sys_trace.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>

enum { HANG_S = 100 };

static int begin_with_alarm(void **state)
{
    alarm(HANG_S);
    return begin(state);
}

static int end_with_alarm(void **state)
{
    int result = end(state);
    unsigned soak = getenv("KYMO_SOAK_SECONDS") ? (unsigned)atoi(getenv("KYMO_SOAK_SECONDS")) : 0;
    alarm(HANG_S + soak);
    return result;
}
#define HANG_TEST(name) cmocka_unit_test_setup_teardown(name, begin_with_alarm, end_with_alarm)

/* ---- Every call that takes a lock or could wait, made in the callback ----------------------- */

/* What the calls below use. */
static struct {
    struct small_neff neff;
    struct loaded all;
    nrt_model_t *model, *other;
    nrt_tensor_t *tensor, *free_tensor, *slice, *empty;
    nrt_tensor_set_t *set;
    nrt_tensor_info_array_t *info;
    nrta_error_tracker_t *tracker;
    const nrta_error_t *errors;
    nrt_cc_context_t *cc;
    nrta_seq_t sequence, queued;
    nrt_async_sendrecv_comm_t *sender, *receiver;
    nrt_async_sendrecv_request_t *send, *receive;
    nrt_sys_trace_config_t *trace;
    nrt_profile_continuous_options_t *continuous;
    nrt_inspect_config_t *inspect;
    struct scratch_name profile, second_profile, trace_file;
    char *text;
    uint8_t bytes[64];
    uint32_t number, group[1];
    size_t size;
    bool flag;
    int fd;
    void *address;
} u;

static NRT_STATUS void_call(void (*call)(void))
{
    call();
    return NRT_SUCCESS;
}

/* What it returns there; FAILURE where it would wait, as an execution is queued behind the callback
 * that uses all.input and all.output. The order matters: later calls use what earlier ones made. */
/* clang-format off */
#define IN_CALLBACK(CALL)                                                                          \
    CALL(SUCCESS, nrta_execute_schedule(u.all.model, u.all.inputs, u.all.outputs, 0, NULL, &u.queued)) \
    CALL(FAILURE, nrt_execute(u.all.model, u.all.inputs, u.all.outputs))                           \
    CALL(FAILURE, nrt_execute_repeat(u.all.model, u.all.inputs, u.all.outputs, 2))                 \
    CALL(FAILURE, nrt_unload(u.other))                                                             \
    CALL(FAILURE, nrt_async_drain_queued_execs(0))                                                 \
    CALL(FAILURE, nrt_async_drain_queued_execs(1))                                                 \
    CALL(FAILURE, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""))                                      \
    CALL(SUCCESS, void_call(nrt_close))                                                            \
    CALL(FAILURE, nrt_barrier(0, 0, 2))                                                            \
    CALL(FAILURE, nrt_all_gather(0, 0, 2, 4, u.bytes, u.bytes + 4))                                \
    CALL(FAILURE, nrt_tensor_read(u.all.output, u.bytes, 0, 8))                                    \
    CALL(FAILURE, nrt_tensor_write(u.all.input, u.bytes, 0, 8))                                    \
    CALL(FAILURE, nrt_tensor_memset(u.all.input, 0, 0, 8))                                         \
    CALL(FAILURE, nrt_tensor_copy(u.all.output, 0, u.free_tensor, 0, 8))                           \
    CALL(FAILURE, nrt_tensor_read_batch(&(nrt_tensor_batch_t){.tensor = u.all.output, .ops = &(nrt_tensor_batch_op_t){.size = 8, .buffer = u.bytes}, .num_ops = 1}, 1, false)) \
    CALL(SUCCESS, nrt_tensor_read_batch(&(nrt_tensor_batch_t){.tensor = u.all.output, .ops = &(nrt_tensor_batch_op_t){.size = 8, .buffer = u.bytes}, .num_ops = 1}, 1, true)) \
    CALL(FAILURE, nrt_tensor_check_output_completion(u.all.output, -1, 1000))                      \
    CALL(FAILURE, nrt_tensor_check_output_completion(u.all.output, 1000000000, 1000))              \
    CALL(TIMEOUT, nrt_tensor_check_output_completion(u.all.output, 0, 1000))                       \
    CALL(SUCCESS, nrt_tensor_check_output_completion(u.all.output, -1, 1))                         \
    CALL(FAILURE, nrt_profile_stop(u.profile.path))                                                \
    CALL(FAILURE, nrt_profile_continuous_save(0, u.continuous))                                    \
    CALL(FAILURE, nrt_inspect_stop())                                                              \
    CALL(SUCCESS, nrt_tensor_read(u.free_tensor, u.bytes, 0, 8))                                   \
    CALL(SUCCESS, nrt_tensor_write(u.free_tensor, u.bytes, 0, 8))                                  \
    CALL(SUCCESS, nrt_tensor_memset(u.free_tensor, 0, 1, 8))                                       \
    CALL(SUCCESS, nrt_tensor_copy(u.free_tensor, 0, u.free_tensor, 8, 8))                          \
    CALL(SUCCESS, nrt_tensor_write_batch(&(nrt_tensor_batch_t){.tensor = u.free_tensor, .ops = &(nrt_tensor_batch_op_t){.size = 8, .buffer = u.bytes}, .num_ops = 1}, 1, false)) \
    CALL(SUCCESS, nrt_tensor_reset_output_completion(u.all.output))                                \
    CALL(SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", &u.tensor))         \
    CALL(SUCCESS, nrt_tensor_allocate_slice(u.tensor, 0, 8, "s", &u.slice))                        \
    CALL(SUCCESS, nrt_tensor_allocate_empty("e", &u.empty))                                        \
    CALL(SUCCESS, nrt_tensor_attach_buffer(u.empty, u.bytes, sizeof u.bytes))                      \
    CALL(SUCCESS, (nrt_tensor_free(&u.slice), nrt_tensor_free(&u.empty), NRT_SUCCESS))             \
    CALL(SUCCESS, nrt_tensor_get_device_allocation_info(u.tensor, &(nrt_tensor_device_allocation_info_t){0})) \
    CALL(SUCCESS, nrt_memcpy_to_device(nrt_tensor_get_va(u.tensor), u.bytes, 8))                   \
    CALL(SUCCESS, nrt_allocate_tensor_set(&u.set))                                                 \
    CALL(SUCCESS, nrt_add_tensor_to_tensor_set(u.set, "x", u.tensor))                              \
    CALL(SUCCESS, nrt_get_tensor_from_tensor_set(u.set, "x", &u.slice))                            \
    CALL(SUCCESS, (nrt_destroy_tensor_set(&u.set), NRT_SUCCESS))                                   \
    CALL(SUCCESS, nrt_load(u.neff.bytes, u.neff.size, 1, -1, &u.model))                            \
    CALL(SUCCESS, nrt_load_collectives(u.neff.bytes, u.neff.size, 1, -1, 0, 1, &u.model))          \
    CALL(SUCCESS, nrt_build_global_comm(0, 0, 2))                                                  \
    CALL(SUCCESS, nrt_cc_global_comm_init(0, 0, 2))                                                \
    CALL(SUCCESS, nrt_get_model_tensor_info(u.model, &u.info))                                     \
    CALL(SUCCESS, nrt_free_model_tensor_info(u.info))                                              \
    CALL(SUCCESS, nrt_get_model_info(u.model, &(nrt_model_info_t){0}, sizeof(nrt_model_info_t), NULL)) \
    CALL(SUCCESS, nrt_get_model_vnc_count(u.model, &u.number))                                     \
    CALL(SUCCESS, nrt_get_visible_vnc_count(&u.number))                                            \
    CALL(SUCCESS, nrt_get_total_vnc_count(&u.number))                                              \
    CALL(SUCCESS, nrt_get_instance_info(&(nrt_instance_info_t){0}, sizeof(nrt_instance_info_t)))   \
    CALL(SUCCESS, nrt_get_vnc_memory_stats(0, &(nrt_vnc_memory_stats_t){0}, sizeof(nrt_vnc_memory_stats_t), NULL)) \
    CALL(SUCCESS, nrt_get_hbm_mmap_va(0, 0, &u.address, &u.size))                                  \
    CALL(SUCCESS, nrt_host_device_id_get(0, &u.number))                                            \
    CALL(SUCCESS, nrt_debug_client_connect(0, &u.fd))                                              \
    CALL(QUEUE_EMPTY, nrt_debug_client_read_one_event(u.fd, &(ndebug_stream_event_header_t){0}, &u.address)) \
    CALL(SUCCESS, (nrt_debug_client_connect_close(u.fd), NRT_SUCCESS))                             \
    CALL(SUCCESS, nrta_error_tracker_create(0, &u.tracker))                                        \
    CALL(SUCCESS, nrta_error_tracker_get_list(u.tracker, &u.errors, &u.size))                      \
    CALL(SUCCESS, nrta_tensor_read(u.bytes, u.all.output, 0, 8, 0, NULL, &u.sequence))             \
    CALL(SUCCESS, nrta_tensor_write(u.tensor, u.bytes, 0, 8, 1, u.tracker, &u.sequence))           \
    CALL(SUCCESS, nrta_tensor_copy(u.tensor, 0, u.tensor, 8, 8, 1, NULL, &u.sequence))             \
    CALL(SUCCESS, nrta_is_completed(u.queued, &u.flag))                                            \
    CALL(SUCCESS, nrta_get_sequence(0, NRTA_XU_COMPUTE, 0, &u.sequence))                           \
    CALL(SUCCESS, nrta_get_completion_handle(u.queued, &u.fd))                                     \
    CALL(SUCCESS, nrta_event_register_seq_id_completion(u.queued, u.fd))                           \
    CALL(SUCCESS, nrta_event_register_xu_completion(0, NRTA_XU_COMPUTE, 0, u.fd))                  \
    CALL(SUCCESS, (close(u.fd), nrta_error_tracker_destroy(u.tracker), NRT_SUCCESS))               \
    CALL(SUCCESS, nrta_cc_prepare(&(nrt_cc_comm_t){.replica_group = u.group, .rank_n = 1, .ctx_device_count = 1}, &(nrt_tensor_list_t){&u.tensor, 1}, &(nrt_tensor_list_t){&u.tensor, 1}, NRT_DTYPE_FLOAT32, NRT_OP_ADD, NRT_CC_ALLREDUCE, &u.cc)) \
    CALL(SUCCESS, nrta_cc_schedule(&u.cc, 0, NULL, &u.sequence))                                   \
    CALL(SUCCESS, nrt_async_sendrecv_init(0))                                                      \
    CALL(SUCCESS, nrt_async_sendrecv_connect("127.0.0.1", 0, 0, &u.sender))                        \
    CALL(SUCCESS, nrt_async_sendrecv_accept("127.0.0.1", 0, 0, &u.receiver))                       \
    CALL(SUCCESS, nrt_async_sendrecv_test_comm(u.sender, &u.flag))                                 \
    CALL(SUCCESS, nrt_async_sendrecv_send_tensor(u.all.output, 0, 8, u.sender, &u.send))           \
    CALL(SUCCESS, nrt_async_sendrecv_recv_tensor(u.free_tensor, 0, 8, u.receiver, &u.receive))     \
    CALL(SUCCESS, nrt_async_sendrecv_test_request(u.receive, &u.flag, NULL))                       \
    CALL(SUCCESS, nrt_async_sendrecv_flush(0))                                                     \
    CALL(SUCCESS, nrt_sys_trace_config_allocate(&u.trace))                                         \
    CALL(SUCCESS, nrt_sys_trace_start(u.trace))                                                    \
    CALL(SUCCESS, nrt_sys_trace_fetch_events(&u.text, &u.size, NULL))                              \
    CALL(SUCCESS, (nrt_sys_trace_buffer_free(u.text), nrt_sys_trace_config_free(u.trace), NRT_SUCCESS)) \
    CALL(SUCCESS, nrt_sys_trace_stop())                                                            \
    CALL(SUCCESS, nrt_trace_start(true))                                                           \
    CALL(SUCCESS, nrt_trace_stop(u.trace_file.path))                                               \
    CALL(SUCCESS, nrt_profile_continuous_stop())                                                   \
    CALL(SUCCESS, nrt_profile_continuous_start(u.continuous))                                      \
    CALL(SUCCESS, nrt_profile_start(u.model, u.second_profile.path))                               \
    CALL(SUCCESS, nrt_inspect_begin_with_options(u.inspect))                                       \
    CALL(SUCCESS, nrt_register_async_exec_callback(NULL, NULL))
/* clang-format on */

#define WITH_TEXT(status_, call_) {#call_, NRT_##status_},
static const struct {
    const char *text;
    NRT_STATUS expected;
} expected[] = {IN_CALLBACK(WITH_TEXT)};
static NRT_STATUS found[COUNT_OF(expected)];
static atomic_bool is_done;

static void call_everything(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
                            NRT_STATUS status)
{
    (void)params, (void)model_id, (void)vnc, (void)job_id, (void)status;
    size_t i = 0;
#define CALL_IT(status_, call_) found[i++] = (call_);
    IN_CALLBACK(CALL_IT)
    atomic_store(&is_done, true);
}

TEST(no_call_waits_in_a_callback)
{
    u.neff = small_neff((struct small_options){.alu = ALU_ADD});
    u.all = load_small(u.neff, 0);
    u.profile = scratch_name(state, "a.ntff");
    u.second_profile = scratch_name(state, "b.ntff");
    u.trace_file = scratch_name(state, "trace.json");
    OK(nrt_load(u.neff.bytes, u.neff.size, 0, -1, &u.other));
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "free", &u.free_tensor));
    OK(nrt_profile_continuous_options_allocate(&u.continuous));
    OK(nrt_profile_continuous_start(u.continuous));
    OK(nrt_profile_start(u.other, u.profile.path));
    OK(nrt_inspect_config_allocate(&u.inspect)); /* not enabled: it records nothing */
    OK(nrt_register_async_exec_callback(call_everything, NULL));
    OK(nrta_execute_schedule(u.all.model, u.all.inputs, u.all.outputs, 0, NULL, NULL));
    while (!atomic_load(&is_done))
        sched_yield();
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        if (found[i] != expected[i].expected)
            fail_msg("%s returned %s, not %s", expected[i].text, nrt_get_status_as_str(found[i]),
                     nrt_get_status_as_str(expected[i].expected));
    /* What was refused had no effect: it works now. A message of the tensors has arrived. */
    OK(nrt_async_drain_queued_execs(0));
    OK(nrt_async_sendrecv_test_request(u.receive, &u.flag, NULL));
    assert_true(u.flag);
    OK(nrt_profile_stop(u.profile.path));
    OK(nrt_inspect_stop());
    OK(nrt_unload(u.other));
    OK(nrt_execute(u.all.model, u.all.inputs, u.all.outputs));
    OK(nrt_profile_continuous_stop());
    OK(nrt_profile_stop(u.second_profile.path));
    nrt_profile_continuous_options_free(u.continuous);
    nrt_inspect_config_free(u.inspect);
    free(u.neff.bytes);
}

/* ---- Forks --------------------------------------------------------------------------------- */

/* The status of a child that ends, or else returns from the callback. */
static int forked[2];
static atomic_int rounds;

static void fork_while_closing(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
                               NRT_STATUS status)
{
    (void)params, (void)model_id, (void)vnc, (void)job_id, (void)status;
    uint32_t count;
    nrt_instance_info_t info;
    atomic_store(&rounds, 1);
    while (nrt_get_instance_info(&info, sizeof info) != NRT_CLOSED)
        sched_yield();
    for (int returns = 0; returns < 2; returns++) {
        pid_t child = fork();
        if (child == 0 && returns)
            return;
        if (child == 0) {
            alarm(HANG_S);
            nrt_close();
            nrt_inspect_stop();
            bool right = nrt_get_instance_info(&info, sizeof info) == NRT_UNINITIALIZED &&
                         nrt_get_visible_vnc_count(&count) == NRT_SUCCESS;
            _exit(right ? 0 : 9);
        }
        waitpid(child, &forked[returns], 0);
    }
}

TEST(a_callback_forks_while_another_thread_closes)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct loaded all = load_small(neff, 0);
    fflush(NULL);
    forked[0] = forked[1] = -1;
    OK(nrt_register_async_exec_callback(fork_while_closing, NULL));
    OK(nrta_execute_schedule(all.model, all.inputs, all.outputs, 0, NULL, NULL));
    while (!atomic_load(&rounds)) /* else nrt_close ends it before it runs */
        sched_yield();
    nrt_close();
    assert_int_equal(forked[0], 0);
    assert_true(WIFEXITED(forked[1]) && WEXITSTATUS(forked[1]) == 1);
    OK(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
    OK(nrt_register_async_exec_callback(NULL, NULL));
    free(neff.bytes);
}

/* ---- Everything at once, for as long as KYMO_SOAK_SECONDS says ------------------------------- */

static atomic_bool quits;
static atomic_uint children_failed, callbacks;

static void fork_once(void)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(HANG_S);
        nrt_close();
        nrt_sys_trace_stop();
        _exit(0);
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0)
        atomic_fetch_add(&children_failed, 1);
}

static void *keep_forking(void *unused)
{
    while (!atomic_load(&quits))
        fork_once();
    return unused;
}

static void *keep_tracing(void *unused)
{
    nrt_sys_trace_config_t *config;
    nrt_sys_trace_config_allocate(&config);
    nrt_sys_trace_config_set_max_events_per_nc(config, 64);
    while (!atomic_load(&quits)) {
        char *text;
        size_t size;
        nrt_sys_trace_start(config);
        for (int i = 0; i < 20; i++)
            if (nrt_sys_trace_fetch_events(&text, &size, NULL) == NRT_SUCCESS)
                nrt_sys_trace_buffer_free(text);
        nrt_sys_trace_stop();
    }
    nrt_sys_trace_config_free(config);
    return unused;
}

/* Sessions, so that libkymo's locks take part. */
static void *keep_inspecting(void *directory)
{
    nrt_inspect_config_t *config;
    nrt_inspect_config_allocate(&config);
    nrt_inspect_config_set_enable_inspect(config, true);
    nrt_inspect_config_set_activity(config, "device_profile", false);
    nrt_inspect_config_set_output_dir(config, directory);
    while (!atomic_load(&quits)) {
        nrt_inspect_begin_with_options(config);
        nrt_inspect_stop();
    }
    nrt_inspect_config_free(config);
    return NULL;
}

static void use_everything(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
                           NRT_STATUS status)
{
    struct loaded *all = params;
    (void)model_id, (void)status;
    float data[ELEMENTS];
    nrta_execute_schedule(all[vnc].model, all[vnc].inputs, all[vnc].outputs, 0, NULL, NULL);
    nrt_execute(all[1 - vnc].model, all[1 - vnc].inputs, all[1 - vnc].outputs);
    nrt_tensor_read(all[vnc].output, data, 0, sizeof data);
    nrt_async_drain_queued_execs((int)vnc);
    if (job_id % 4 == 0)
        fork_once();
    atomic_fetch_add(&callbacks, 1);
}

/* One life of the runtime, which ends while two cores keep themselves busy. */
static void live(struct small_neff neff)
{
    struct loaded all[2] = {load_small(neff, 0), load_small(neff, 1)};
    unsigned before = callbacks;
    OK(nrt_register_async_exec_callback(use_everything, all));
    for (uint32_t i = 0; i < 2; i++)
        OK(nrta_execute_schedule(all[i].model, all[i].inputs, all[i].outputs, 0, NULL, NULL));
    while (atomic_load(&callbacks) - before < 4)
        sched_yield();
    nrt_close();
    OK(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
    OK(nrt_register_async_exec_callback(NULL, NULL));
}

TEST(forks_traces_callbacks_and_nrt_close_take_turns)
{
    struct small_neff neff = small_neff((struct small_options){.alu = ALU_ADD});
    struct scratch_name sessions = scratch_name(state, "sessions");
    const char *seconds = getenv("KYMO_SOAK_SECONDS"); /* longer in `make soak` */
    time_t last = time(NULL) + (seconds ? atoi(seconds) : 0);
    void *(*const others[])(void *) = {keep_forking, keep_tracing, keep_inspecting};
    pthread_t threads[COUNT_OF(others)];
    fflush(NULL);
    alarm(HANG_S + (seconds ? (unsigned)atoi(seconds) : 0));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, others[i], sessions.path), 0);
    for (int round = 0; round < 8 || time(NULL) < last; round++)
        live(neff);
    atomic_store(&quits, true);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(children_failed, 0);
    free(neff.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HANG_TEST(no_call_waits_in_a_callback),
        HANG_TEST(a_callback_forks_while_another_thread_closes),
        HANG_TEST(forks_traces_callbacks_and_nrt_close_take_turns),
    };
    return cmocka_run_group_tests_name("runtime_callback", tests, NULL, NULL);
}
