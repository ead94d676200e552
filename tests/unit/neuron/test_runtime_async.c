/*
 * The runtime used rightly: queues of requests, and ranks that exchange data.
 */
#include "runtime_tests.h"

#include <fcntl.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_async_sendrecv.h>
#include <nrt/nrt_experimental.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

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

TEST(a_descriptor_that_the_program_closed_is_left_alone)
{
    nrt_tensor_t *tensor;
    uint64_t count = 0, byte = 1;
    nrta_seq_t sequence;
    OK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, 8, "t", &tensor));
    int watched = eventfd(0, EFD_NONBLOCK), next = dup(watched);
    close(next); /* the number that the runtime's own descriptor gets */
    OK(nrta_event_register_xu_completion(0, NRTA_XU_TENSOR_OP, 0, watched));
    close(watched);
    int other = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(other, watched);
    OK(nrta_tensor_write(tensor, &byte, 0, 8, 0, NULL, &sequence));
    wait_for(sequence);
    assert_int_equal(read(other, &count, sizeof count), -1);
    close(other);
    assert_true(fcntl(next, F_GETFD) >= 0);
    nrt_close();
    assert_int_equal(fcntl(next, F_GETFD), -1);
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
    rank->gathered[0] = 100 + rank->rank; /* the input lies in the output */
    OK(nrt_all_gather((int)rank->rank, rank->rank, rank->count, sizeof *rank->gathered,
                      rank->gathered, rank->gathered));
    for (int i = 0; i < 3; i++) {
        if (i == 2) /* in place */
            OK(nrt_add_tensor_to_tensor_set(all.outputs, "output0", all.input));
        write_input(&all, (float)(rank->rank + 1) * (float)(i + 1));
        rank->status = nrt_execute(all.model, all.inputs, all.outputs);
        OK(nrt_barrier((int)rank->rank, rank->rank, rank->count));
    }
    OK(nrt_tensor_read(all.input, rank->got, 0, TENSOR_BYTES));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNTIME_TEST(requests_complete_in_order),
        RUNTIME_TEST(a_descriptor_that_the_program_closed_is_left_alone),
        RUNTIME_TEST(a_full_queue_says_so),
        RUNTIME_TEST(a_tracker_lists_requests_that_failed),
        RUNTIME_TEST(ranks_exchange_data),
        RUNTIME_TEST(collectives_can_be_scheduled),
        RUNTIME_TEST(cores_send_and_receive),
    };
    return cmocka_run_group_tests_name("runtime_async", tests, NULL, NULL);
}
