/*
 * Collectives that the host asks for: communicators, barriers, all-gathers, and those scheduled
 * with nrta_cc_schedule.
 */
#include "base/base.h"
#include "base/clock.h"
#include "capture/neuron/trace.h"
#include "neuron/runtime/execute.h"
#include "neuron/runtime/tensor.h"
#include "neuron/runtime/tracker.h"

#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>
#include <string.h>

/* ---- Of the host --------------------------------------------------------------------------- */

static NRT_STATUS check_rank(int64_t vnc, uint32_t rank, uint32_t count)
{
    return vnc_at(vnc) && rank < count ? NRT_SUCCESS : NRT_INVALID;
}

static NRT_STATUS build_communicator(int64_t vnc, uint32_t rank, uint32_t count)
{
    NRT_STATUS status = check_rank(vnc, rank, count);
    return status == NRT_SUCCESS ? rank_join(rank, count) : status;
}

NRT_STATUS nrt_build_global_comm(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
    IN_RUNTIME(build_communicator(vnc, g_device_id, g_device_count));
}

NRT_STATUS nrt_cc_global_comm_init(uint32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
    IN_RUNTIME(build_communicator(vnc, g_device_id, g_device_count));
}

struct gathering {
    uint8_t *out;
    size_t size;
};

static void gather(void *context, const uint8_t *const *inputs, uint32_t count)
{
    const struct gathering *gathering = context;
    for (uint32_t i = 0; i < count; i++)
        memcpy(gathering->out + i * gathering->size, inputs[i], gathering->size);
}

/* Without data: a barrier. */
static NRT_STATUS meet(int32_t vnc, uint32_t rank, uint32_t count, const uint8_t *in,
                       struct gathering *gathering)
{
    NRT_STATUS status = check_rank(vnc, rank, count);
    if (status != NRT_SUCCESS || (gathering && (!in || !gathering->out || gathering->size == 0)))
        return NRT_INVALID;
    status = rank_join(rank, count);
    if (status != NRT_SUCCESS)
        return status;
    struct rank run = {.world = world_get(count, WORLD_HOST), .number = rank, .count = count};
    size_t size = gathering ? gathering->size : 0;
    uint8_t *copy;
    const struct exchange exchange = {
        .key = gathering ? 1 + size : 0,
        .in = input_apart(in, size, gathering ? gathering->out : NULL, count * size, &copy),
        .size = size,
        .combine = gathering ? gather : NULL,
        .context = gathering};
    uint64_t unused;
    rank_begin(&run);
    enum exchange_result result = rank_exchange(&run, &exchange, &unused);
    rank_end(&run, result != EXCHANGE_DONE);
    mem_free(copy);
    return result == EXCHANGE_DONE   ? NRT_SUCCESS
           : runtime_is_closing()    ? NRT_CLOSED
           : result == EXCHANGE_LATE ? NRT_TIMEOUT
                                     : NRT_EXEC_HW_ERR_COLLECTIVES;
}

NRT_STATUS nrt_barrier(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
    WAIT_IN_RUNTIME(meet(vnc, g_device_id, g_device_count, NULL, NULL));
}

NRT_STATUS nrt_all_gather(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count,
                          uint32_t rank_input_size, void *input, void *output)
{
    struct gathering gathering = {.out = output, .size = rank_input_size};
    WAIT_IN_RUNTIME(meet(vnc, g_device_id, g_device_count, input, &gathering));
}

/* ---- Scheduled ----------------------------------------------------------------------------- */

struct cc_tensor {
    struct tensor *tensor;
    struct view view;
};

struct cc { /* nrt_cc_context_t */
    struct object object;
    struct vnc *vnc;
    uint32_t rank, world_size;
    uint32_t *members;
    uint32_t member_count;
    struct collective collective; /* of one tensor; sizes are set for each */
    struct cc_tensor *in, *out;
    size_t tensor_count;
};

struct cc_request {
    struct runtime_request request;
    struct cc *cc;
};

static void cc_destroy(struct object *object)
{
    struct cc *cc = (struct cc *)object;
    for (size_t i = 0; i < 2 * cc->tensor_count; i++) {
        struct cc_tensor *item = i < cc->tensor_count ? &cc->in[i] : &cc->out[i - cc->tensor_count];
        view_put(&item->view);
        object_put(item->tensor ? &item->tensor->object : NULL);
    }
    mem_free(cc->in);
    mem_free(cc->out);
    mem_free(cc->members);
}

static bool take_tensors(const nrt_tensor_list_t *list, struct cc_tensor *items)
{
    for (size_t i = 0; i < list->num_tensors; i++) {
        items[i].tensor = tensor_get(list->tensors[i]);
        if (!items[i].tensor)
            return false;
        items[i].view = tensor_view(items[i].tensor);
    }
    return true;
}

/* Whether sizes fit the operation, and memory the core. */
static bool check_tensors(const struct cc *cc)
{
    uint32_t bytes = dtype_bytes(cc->collective.dtype), n = cc->member_count;
    for (size_t i = 0; i < cc->tensor_count; i++) {
        const struct view *in = &cc->in[i].view, *out = &cc->out[i].view;
        if (!in->storage || !out->storage || in->size % bytes != 0 || out->size % bytes != 0)
            return false;
        if ((in->vnc && in->vnc->stack != cc->vnc->stack) ||
            (out->vnc && out->vnc->stack != cc->vnc->stack))
            return false;
        size_t wanted = cc->collective.kind == COLLECTIVE_ALL_GATHER       ? in->size * n
                        : cc->collective.kind == COLLECTIVE_REDUCE_SCATTER ? in->size / n
                                                                           : in->size;
        if (out->size != wanted || (cc->collective.kind == COLLECTIVE_REDUCE_SCATTER &&
                                    in->size % ((size_t)bytes * n) != 0))
            return false;
    }
    return true;
}

static bool set_operation(struct cc *cc, nrt_dtype_t dtype, nrt_op_type_t op,
                          nrt_cc_op_type_t cc_op)
{
    static const uint8_t kinds[] = {[NRT_CC_ALLGATHER] = COLLECTIVE_ALL_GATHER,
                                    [NRT_CC_ALLREDUCE] = COLLECTIVE_ALL_REDUCE,
                                    [NRT_CC_REDUCESCATTER] = COLLECTIVE_REDUCE_SCATTER};
    static const uint8_t alus[] = {
        [NRT_OP_ADD] = ALU_ADD, [NRT_OP_MAX] = ALU_MAX, [NRT_OP_MIN] = ALU_MIN};
    if ((unsigned)cc_op > NRT_CC_REDUCESCATTER || dtype <= NRT_DTYPE_UNKNOWN ||
        (unsigned)dtype > NRT_DTYPE_FP8_E5)
        return false;
    cc->collective.kind = kinds[cc_op];
    cc->collective.dtype = (uint8_t)dtype;
    if (cc_op == NRT_CC_ALLGATHER)
        return true;
    if ((unsigned)op > NRT_OP_MIN || alus[op] == ALU_NONE)
        return false;
    cc->collective.alu = alus[op];
    return true;
}

static bool set_members(struct cc *cc, const nrt_cc_comm_t *comm)
{
    if (!comm->replica_group || comm->rank_n == 0 || comm->rank >= comm->rank_n ||
        comm->rank_n > comm->ctx_device_count || !vnc_at(comm->vnc))
        return false;
    for (uint32_t i = 0; i < comm->rank_n; i++)
        if (comm->replica_group[i] >= comm->ctx_device_count)
            return false;
    if (comm->replica_group[comm->rank] != comm->ctx_device_id)
        return false;
    cc->vnc = vnc_at(comm->vnc);
    cc->rank = comm->ctx_device_id;
    cc->world_size = comm->ctx_device_count;
    cc->member_count = comm->rank_n;
    cc->members = mem_alloc(comm->rank_n * sizeof *cc->members);
    memcpy(cc->members, comm->replica_group, comm->rank_n * sizeof *cc->members);
    return true;
}

static NRT_STATUS fill(struct cc *cc, const nrt_cc_comm_t *comm, const nrt_tensor_list_t *input,
                       const nrt_tensor_list_t *output)
{
    if (!input->tensors || !output->tensors || input->num_tensors == 0 ||
        input->num_tensors != output->num_tensors || !set_members(cc, comm))
        return NRT_INVALID;
    cc->tensor_count = input->num_tensors;
    cc->in = mem_zeroed(cc->tensor_count, sizeof *cc->in);
    cc->out = mem_zeroed(cc->tensor_count, sizeof *cc->out);
    if (!take_tensors(input, cc->in) || !take_tensors(output, cc->out))
        return NRT_INVALID_HANDLE;
    return check_tensors(cc) ? NRT_SUCCESS : NRT_INVALID;
}

static NRT_STATUS prepare(const nrt_cc_comm_t *comm, const nrt_tensor_list_t *input,
                          const nrt_tensor_list_t *output, nrt_dtype_t dtype, nrt_op_type_t op,
                          nrt_cc_op_type_t cc_op, nrt_cc_context_t **result)
{
    if (!comm || !input || !output || !result)
        return NRT_INVALID;
    struct cc *cc = object_new(OBJECT_CC, sizeof *cc, cc_destroy);
    NRT_STATUS status =
        set_operation(cc, dtype, op, cc_op) ? fill(cc, comm, input, output) : NRT_INVALID;
    if (status == NRT_SUCCESS)
        *result = object_publish(&cc->object);
    else
        object_put(&cc->object);
    return status;
}

NRT_STATUS nrta_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input, nrt_tensor_list_t *output,
                           nrt_dtype_t dtype, nrt_op_type_t op, nrt_cc_op_type_t cc_op,
                           nrt_cc_context_t **cc_ctx)
{
    IN_RUNTIME(prepare(comm, input, output, dtype, op, cc_op, cc_ctx));
}

/* One tensor, through memory of its own, as the output may be the input. */
static bool exchange_tensor(const struct cc *cc, struct rank *rank, size_t index)
{
    struct collective collective = cc->collective;
    const struct view *in = &cc->in[index].view, *out = &cc->out[index].view;
    collective.group_count = 1;
    collective.group_size = cc->member_count;
    collective.members = cc->members;
    collective.input_bytes = in->size;
    collective.output_bytes = out->size;
    uint8_t *result = mem_alloc(out->size);
    uint64_t unused;
    bool ok = storage_begin_copy(in->storage, out->storage) == NRT_SUCCESS;
    if (ok) {
        ok = rank_run_collective(rank, &collective, 0, in->data, result, 0, &unused);
        if (ok)
            memcpy(out->data, result, out->size);
        storage_end_copy(in->storage, out->storage);
    }
    mem_free(result);
    return ok;
}

static NRT_STATUS run(struct runtime_request *request)
{
    const struct cc *cc = ((struct cc_request *)request)->cc;
    struct rank rank = {.world = world_get(cc->world_size, WORLD_QUEUE),
                        .number = cc->rank,
                        .count = cc->world_size};
    uint64_t id = trace_next_id();
    trace_event(EVENT_cc_running, cc->vnc->index, TRACE_START, id, kymo_uint("rank_id", cc->rank),
                kymo_uint("nc_timestamp_ns", vnc_clock_ns(cc->vnc, clock_monotonic_ns())));
    rank_begin(&rank);
    bool ok = true;
    for (size_t i = 0; ok && i < cc->tensor_count; i++)
        ok = exchange_tensor(cc, &rank, i);
    rank_end(&rank, !ok);
    trace_event(EVENT_cc_running, cc->vnc->index, TRACE_STOP, id,
                kymo_uint("nc_timestamp_ns", vnc_clock_ns(cc->vnc, clock_monotonic_ns())));
    for (size_t i = 0; ok && i < cc->tensor_count; i++)
        tensor_completed(cc->out[i].tensor);
    return ok ? NRT_SUCCESS : NRT_EXEC_HW_ERR_COLLECTIVES;
}

static void release(struct runtime_request *request)
{
    struct cc_request *work = (struct cc_request *)request;
    object_put(&work->cc->object);
    tracker_put(request->errors);
    mem_free(work);
}

/* The handle ends with success: a context can be scheduled once. The request owns the references to
 * context and tracker. */
static NRT_STATUS schedule(nrt_cc_context_t **handle, int queue, nrta_error_tracker_t *err,
                           nrta_seq_t *sequence)
{
    if (!handle || queue < 0 || queue >= CORE_QUEUES - QUEUE_COLLECTIVE)
        return NRT_INVALID;
    struct tracker *errors = err ? object_get(err, OBJECT_TRACKER) : NULL;
    struct cc *cc = object_get(*handle, OBJECT_CC);
    if (!cc || (err && !errors)) {
        tracker_put(errors);
        object_put(cc ? &cc->object : NULL);
        return NRT_INVALID_HANDLE;
    }
    struct cc_request *work = mem_zeroed(1, sizeof *work);
    work->cc = cc;
    work->request.run = run;
    work->request.release = release;
    work->request.errors = errors;
    NRT_STATUS status =
        queue_submit(&cc->vnc->queues[QUEUE_COLLECTIVE + queue], &work->request, sequence);
    if (status != NRT_SUCCESS) {
        release(&work->request);
        return status;
    }
    object_put(object_retire(*handle, OBJECT_CC));
    *handle = NULL;
    return NRT_SUCCESS;
}

NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, nrta_error_tracker_t *err,
                            nrta_seq_t *req_sequence)
{
    IN_RUNTIME(schedule(cc_ctx, queue, err, req_sequence));
}
