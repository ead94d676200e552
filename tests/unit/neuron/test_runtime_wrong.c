/*
 * The runtime used wrongly: every function, before nrt_init, after nrt_close, with NULL, with
 * handles that are foreign, of another kind or freed, with sizes, offsets, cores and queues out of
 * range. Each returns its documented status.
 */
#include "runtime_model.h"

#include <fcntl.h>
#include <nrt/ndebug_stream.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_async_sendrecv.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_profile.h>
#include <nrt/nrt_sys_trace.h>

static struct small_neff neff;
static struct loaded all;
static nrt_tensor_t *host, *empty, *freed, *elsewhere;
static uint8_t bytes[64];
static uint32_t number;
static bool flag;
static int fd;
static size_t size;
static nrta_seq_t sequence;
static void *pointer;
static nrt_async_sendrecv_comm_t *comm;

/* Addresses of the program, handles of other kinds. */
#define FOREIGN(type) ((type *)(void *)bytes)
#define OTHER(type)   ((type *)(void *)all.inputs)

struct wrong_call {
    const char *text;
    NRT_STATUS (*call)(void);
    NRT_STATUS expected;
};
#define WRONG(name, expected, expression)                                                          \
    static NRT_STATUS name(void)                                                                   \
    {                                                                                              \
        return expression;                                                                         \
    }
#include "runtime_wrong.def"
#undef WRONG

static const struct wrong_call calls[] = {
#define WRONG(name, expected, expression) {#expression, name, expected},
#include "runtime_wrong.def"
#undef WRONG
};

static void check(NRT_STATUS (*expected)(const struct wrong_call *))
{
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        NRT_STATUS status = calls[i].call(), right = expected(&calls[i]);
        if (status != right)
            fail_msg("%s: %s, not %s", calls[i].text, nrt_get_status_as_str(status),
                     nrt_get_status_as_str(right));
    }
}

static NRT_STATUS as_documented(const struct wrong_call *call)
{
    return call->expected;
}

/* Functions that work without the runtime judge their arguments as always. */
static bool needs_runtime(const struct wrong_call *call)
{
    static const char *const others[] = {"nrt_get_total_",
                                         "nrt_get_visible_",
                                         "nrt_init",
                                         "nrt_free_model_tensor_info",
                                         "nrt_async_sendrecv_get_max_",
                                         "nrt_profile_"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (strncmp(call->text, others[i], strlen(others[i])) == 0)
            return false;
    return true;
}

static NRT_STATUS before_init(const struct wrong_call *call)
{
    return needs_runtime(call) ? NRT_UNINITIALIZED : call->expected;
}

static NRT_STATUS after_close(const struct wrong_call *call)
{
    return needs_runtime(call) ? NRT_CLOSED : call->expected;
}

static void open_runtime(void)
{
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    neff = small_neff((struct small_options){.alu = ALU_ADD});
    all = load_small(neff, 0);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, 64, "h", &host), 0);
    assert_int_equal(nrt_tensor_allocate_empty("e", &empty), 0);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 5, 4096, "x", &elsewhere), 0);
    assert_int_equal(nrt_tensor_allocate_empty("f", &freed), 0);
    nrt_tensor_t *gone = freed;
    nrt_tensor_free(&gone);
}

TEST(every_wrong_call_returns_its_status)
{
    check(before_init);
    open_runtime();
    check(as_documented);
    nrt_close();
    check(after_close);
    free(neff.bytes);
}

/* What the calls print on standard error, as a file. */
static int redirect_errors(const char *path)
{
    int before = dup(STDERR_FILENO), file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDERR_FILENO);
    close(file);
    return before;
}

/* Calls that fail by what was called before them, not by their arguments. */
static void call_out_of_turn(void)
{
    nrt_sys_trace_config_t *trace;
    nrt_inspect_config_t *inspect;
    nrt_profile_continuous_options_t *continuous;
    nrt_sys_trace_config_allocate(&trace);
    nrt_sys_trace_config_set_max_events_per_nc(trace, UINT64_MAX);
    nrt_sys_trace_start(trace);
    nrt_sys_trace_config_set_max_events_per_nc(trace, 8);
    nrt_sys_trace_start(trace);
    nrt_sys_trace_start(trace);
    nrt_sys_trace_stop();
    nrt_sys_trace_config_free(trace);
    nrt_inspect_config_allocate(&inspect);
    for (int i = 0; i < 2; i++) /* not enabled; begun already */
        nrt_inspect_begin_with_options(inspect);
    nrt_inspect_begin();
    nrt_inspect_stop();
    nrt_inspect_begin();
    nrt_inspect_stop();
    nrt_inspect_config_free(inspect);
    nrt_profile_continuous_options_allocate(&continuous);
    for (int i = 0; i < 2; i++)
        nrt_profile_continuous_start(continuous);
    nrt_profile_continuous_stop();
    nrt_profile_continuous_options_free(continuous);
    for (int i = 0; i < 2; i++)
        nrt_profile_start(all.model, "/dev/null");
    nrt_profile_stop("/dev/null");
    nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
}

TEST(a_quiet_runtime_prints_nothing)
{
    struct scratch_name path = scratch_name(state, "errors");
    setenv("NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC", "many", 1);
    size_t length;
    open_runtime();
    int before = redirect_errors(path.path);
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        calls[i].call();
    call_out_of_turn();
    dup2(before, STDERR_FILENO);
    close(before);
    unsetenv("NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC");
    char *text = read_whole_file(path.path, &length);
    assert_string_equal(text, "");
    free(text);
    nrt_close();
    free(neff.bytes);
}

/* They return nothing, and do no harm. */
TEST(freeing_what_is_not_there_does_nothing)
{
    nrt_tensor_t *tensor = FOREIGN(nrt_tensor_t);
    nrt_tensor_set_t *set = FOREIGN(nrt_tensor_set_t);
    for (int i = 0; i < 2; i++) {
        nrt_tensor_free(NULL);
        nrt_tensor_free(&tensor);
        assert_null(tensor);
        nrt_tensor_free(&tensor);
        nrt_destroy_tensor_set(NULL);
        nrt_destroy_tensor_set(&set);
        assert_null(set);
        nrta_error_tracker_destroy(NULL);
        nrta_error_tracker_destroy(FOREIGN(nrta_error_tracker_t));
        nrt_debug_client_connect_close(-1);
        nrt_debug_client_connect_close(0);
        assert_int_equal(nrt_tensor_get_size(NULL), 0);
        assert_int_equal(nrt_tensor_get_size(FOREIGN(nrt_tensor_t)), 0);
        assert_null(nrt_tensor_get_va(FOREIGN(nrt_tensor_t)));
        int problem = 0;
        char text[64] = "";
        assert_null(nrt_get_libnccl_net(&problem, text, sizeof text));
        assert_int_equal(problem, NRT_FAILURE);
        assert_true(strlen(text) > 0);
        assert_null(nrt_get_libnccl_net(NULL, NULL, 0));
        if (i == 0)
            open_runtime();
    }
    nrt_close();
    free(neff.bytes);
}

/* Handles are numbers that are never given out twice. */
TEST(guessed_handles_are_invalid)
{
    open_runtime();
    struct rng rng = {11};
    for (int i = 0; i < 100000; i++) {
        uint64_t guess = rng_any_width(&rng);
        uint64_t near = (uint64_t)(uintptr_t)host ^ (UINT64_C(1) << rng_below(&rng, 64));
        uint8_t byte;
        assert_int_not_equal(nrt_tensor_read((nrt_tensor_t *)(uintptr_t)guess, &byte, 0, 1),
                             NRT_SUCCESS);
        if (near != (uint64_t)(uintptr_t)all.input && near != (uint64_t)(uintptr_t)all.output &&
            near != (uint64_t)(uintptr_t)elsewhere)
            assert_int_not_equal(nrt_tensor_read((nrt_tensor_t *)(uintptr_t)near, &byte, 0, 1),
                                 NRT_SUCCESS);
    }
    for (int i = 0; i < 1000; i++) {
        nrt_tensor_t *tensor, *old;
        assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, 8, "", &tensor), 0);
        old = tensor;
        nrt_tensor_free(&tensor);
        assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, 8, "", &tensor), 0);
        assert_ptr_not_equal(tensor, old);
        assert_int_equal(nrt_tensor_memset(old, 0, 0, 8), NRT_INVALID_HANDLE);
        nrt_tensor_free(&tensor);
    }
    nrt_close();
    free(neff.bytes);
}

TEST(files_that_cannot_run_are_refused)
{
    open_runtime();
    struct small_neff other = small_neff((struct small_options){.alu = ALU_ADD, .core_version = 3});
    struct small_neff ranks = small_neff((struct small_options){.workers = 4});
    struct small_neff both = small_neff((struct small_options){.alu = ALU_ADD, .programs = 2});
    nrt_model_t *model;
    assert_int_equal(nrt_load(other.bytes, other.size, 0, -1, &model),
                     NRT_UNSUPPORTED_NEFF_VERSION);
    assert_int_equal(nrt_load(ranks.bytes, ranks.size, 0, -1, &model), NRT_INVALID);
    assert_int_equal(nrt_load_collectives(ranks.bytes, ranks.size, 0, -1, 1, 2, &model),
                     NRT_INVALID);
    assert_int_equal(nrt_load(both.bytes, both.size, 0, -1, &model), NRT_INVALID);
    nrt_close();
    setenv("NEURON_RT_VISIBLE_CORES", "4", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_load(both.bytes, both.size, 0, -1, &model), NRT_LOAD_NOT_ENOUGH_NC);
    nrt_close();
    /* Every byte of a small file wrong, and every length short: an error, never a crash. */
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    for (size_t i = 0; i < neff.size; i += i < 2048 ? 7 : 199) {
        uint8_t *copy = exact_copy(neff.bytes, i);
        assert_int_not_equal(nrt_load(copy, i, 0, -1, &model), NRT_SUCCESS);
        free(copy);
        copy = exact_copy(neff.bytes, neff.size);
        copy[i] ^= 0x5A;
        if (nrt_load(copy, neff.size, 0, -1, &model) == NRT_SUCCESS)
            assert_int_equal(nrt_unload(model), NRT_SUCCESS);
        free(copy);
    }
    nrt_close();
    free(other.bytes);
    free(ranks.bytes);
    free(both.bytes);
    free(neff.bytes);
}

int main(void)
{
#define MACHINE_TEST(name) cmocka_unit_test_setup_teardown(name, machine_make, machine_remove)
    const struct CMUnitTest tests[] = {
        MACHINE_TEST(every_wrong_call_returns_its_status),
        MACHINE_TEST(a_quiet_runtime_prints_nothing),
        MACHINE_TEST(freeing_what_is_not_there_does_nothing),
        MACHINE_TEST(guessed_handles_are_invalid),
        MACHINE_TEST(files_that_cannot_run_are_refused),
    };
    return cmocka_run_group_tests_name("runtime, used wrongly", tests, NULL, NULL);
}
