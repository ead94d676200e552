/*
 * Copies between tensors and host memory, one at a time or in batches.
 */
#include "capture/neuron/trace.h"
#include "neuron/runtime/tensor.h"

#include <string.h>

NRT_STATUS tensor_range_check(struct tensor *tensor, uint64_t offset, uint64_t size)
{
    struct view view = tensor_view(tensor), part;
    bool is_inside = view_part(&view, offset, size, &part);
    view_put(&view);
    return is_inside ? NRT_SUCCESS : NRT_INVALID;
}

enum direction { READ, WRITE, FILL };
struct transfer {
    enum direction direction;
    uint64_t offset, size;
    void *to;         /* READ */
    const void *from; /* WRITE */
    int value;        /* FILL */
    bool is_unsafe;   /* not to wait for executions */
};

/* The caller's buffer may be memory of the tensor, by nrt_tensor_get_va or an attached buffer. */
static void move(const struct view *part, const struct transfer *transfer)
{
    static const enum runtime_event types[] = {
        [READ] = EVENT_dmem_buf_copyout, [WRITE] = EVENT_dmem_buf_copyin};
    uint64_t id = 0;
    if (part->vnc && transfer->direction != FILL) {
        id = trace_next_id();
        trace_event(types[transfer->direction], part->vnc->index, TRACE_START, id,
                    kymo_uint("size", transfer->size));
    }
    if (transfer->direction == READ)
        memmove(transfer->to, part->data, transfer->size);
    else if (transfer->direction == WRITE)
        memmove(part->data, transfer->from, transfer->size);
    else
        memset(part->data, transfer->value, transfer->size);
    if (id)
        trace_event(types[transfer->direction], part->vnc->index, TRACE_STOP, id);
}

static NRT_STATUS run(struct tensor *tensor, const struct transfer *transfer)
{
    struct view view = tensor_view(tensor), part;
    NRT_STATUS status = NRT_INVALID;
    if (view_part(&view, transfer->offset, transfer->size, &part)) {
        status = transfer->is_unsafe ? NRT_SUCCESS : storage_begin_copy(view.storage, NULL);
        if (status == NRT_SUCCESS && transfer->size > 0)
            move(&part, transfer);
        if (status == NRT_SUCCESS && !transfer->is_unsafe)
            storage_end_copy(view.storage, NULL);
    }
    view_put(&view);
    return status;
}

/* With the events of a call around it. */
static NRT_STATUS run_call(const nrt_tensor_t *handle, const struct transfer *transfer,
                           enum runtime_event type)
{
    if (transfer->direction != FILL && !transfer->to && !transfer->from)
        return NRT_INVALID;
    struct tensor *tensor = tensor_get(handle);
    if (!tensor)
        return NRT_INVALID_HANDLE;
    struct view view = tensor_view(tensor);
    uint32_t core = view.vnc ? view.vnc->index : TRACE_NO_CORE;
    view_put(&view);
    uint64_t id = trace_next_id();
    trace_event(type, core, TRACE_START, id, TENSOR_ID(handle),
                kymo_text("tensor_name", tensor->name), kymo_uint("offset", transfer->offset),
                kymo_uint("size", transfer->size));
    NRT_STATUS status = run(tensor, transfer);
    trace_event(type, core, TRACE_STOP, id);
    object_put(&tensor->object);
    return status;
}

NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size)
{
    const struct transfer transfer = {READ, .offset = offset, .size = size, .to = buf};
    IN_RUNTIME(run_call(tensor, &transfer, EVENT_nrt_tensor_read));
}

NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size)
{
    const struct transfer transfer = {WRITE, .offset = offset, .size = size, .from = buf};
    IN_RUNTIME(run_call(tensor, &transfer, EVENT_nrt_tensor_write));
}

NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size)
{
    const struct transfer transfer = {FILL, .offset = offset, .size = size, .value = value};
    IN_RUNTIME(run_call(tensor, &transfer, EVENT_nrt_tensor_memset));
}

NRT_STATUS tensor_read(struct tensor *tensor, void *buffer, uint64_t offset, uint64_t size)
{
    return run(tensor, &(struct transfer){READ, .offset = offset, .size = size, .to = buffer});
}

NRT_STATUS tensor_write(struct tensor *tensor, const void *buffer, uint64_t offset, uint64_t size)
{
    return run(tensor, &(struct transfer){WRITE, .offset = offset, .size = size, .from = buffer});
}

/* ---- Batches ------------------------------------------------------------------------------- */

static NRT_STATUS check_batch(const nrt_tensor_batch_t *batch)
{
    if (!batch->ops && batch->num_ops > 0)
        return NRT_INVALID;
    struct tensor *tensor = tensor_get(batch->tensor);
    if (!tensor)
        return NRT_INVALID_HANDLE;
    NRT_STATUS status = NRT_SUCCESS;
    for (uint32_t i = 0; i < batch->num_ops && status == NRT_SUCCESS; i++)
        status = batch->ops[i].buffer
                     ? tensor_range_check(tensor, batch->ops[i].offset, batch->ops[i].size)
                     : NRT_INVALID;
    object_put(&tensor->object);
    return status;
}

static NRT_STATUS run_batch(const nrt_tensor_batch_t *batch, enum direction direction,
                            bool is_unsafe)
{
    static const enum runtime_event types[] = {
        [READ] = EVENT_nrt_tensor_read, [WRITE] = EVENT_nrt_tensor_write};
    NRT_STATUS status = NRT_SUCCESS;
    for (uint32_t i = 0; i < batch->num_ops && status == NRT_SUCCESS; i++) {
        const nrt_tensor_batch_op_t *op = &batch->ops[i];
        const struct transfer transfer = {direction,          .offset = op->offset,
                                          .size = op->size,   .to = op->buffer,
                                          .from = op->buffer, .is_unsafe = is_unsafe};
        status = run_call(batch->tensor, &transfer, types[direction]);
    }
    return status;
}

static NRT_STATUS run_batches(const nrt_tensor_batch_t *batches, uint64_t count,
                              enum direction direction, bool is_unsafe)
{
    NRT_STATUS status = batches || count == 0 ? NRT_SUCCESS : NRT_INVALID;
    for (uint64_t i = 0; status == NRT_SUCCESS && i < count; i++)
        status = check_batch(&batches[i]);
    for (uint64_t i = 0; status == NRT_SUCCESS && i < count; i++)
        status = run_batch(&batches[i], direction, is_unsafe);
    return status;
}

NRT_STATUS nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
                                 bool unsafe)
{
    IN_RUNTIME(run_batches(batches, num_batches, READ, unsafe));
}

NRT_STATUS nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
                                  bool unsafe)
{
    IN_RUNTIME(run_batches(batches, num_batches, WRITE, unsafe));
}

/* ---- Between tensors ----------------------------------------------------------------------- */

struct pair {
    struct view from, to, from_part, to_part;
};

static NRT_STATUS pair_open(struct pair *pair, struct tensor *from, uint64_t from_offset,
                            struct tensor *to, uint64_t to_offset, uint64_t size)
{
    pair->from = tensor_view(from);
    pair->to = tensor_view(to);
    if (!view_part(&pair->from, from_offset, size, &pair->from_part) ||
        !view_part(&pair->to, to_offset, size, &pair->to_part))
        return NRT_INVALID;
    bool is_same_memory =
        !pair->from.vnc || !pair->to.vnc || pair->from.vnc->stack == pair->to.vnc->stack;
    return is_same_memory ? NRT_SUCCESS : NRT_INVALID;
}

static void pair_close(struct pair *pair)
{
    view_put(&pair->from);
    view_put(&pair->to);
}

NRT_STATUS tensor_copy_check(struct tensor *from, uint64_t from_offset, struct tensor *to,
                             uint64_t to_offset, uint64_t size)
{
    struct pair pair;
    NRT_STATUS status = pair_open(&pair, from, from_offset, to, to_offset, size);
    pair_close(&pair);
    return status;
}

NRT_STATUS tensor_copy(struct tensor *from, uint64_t from_offset, struct tensor *to,
                       uint64_t to_offset, uint64_t size)
{
    struct pair pair;
    NRT_STATUS status = pair_open(&pair, from, from_offset, to, to_offset, size);
    if (status == NRT_SUCCESS)
        status = storage_begin_copy(pair.from.storage, pair.to.storage);
    if (status == NRT_SUCCESS) {
        memmove(pair.to_part.data, pair.from_part.data, size);
        storage_end_copy(pair.from.storage, pair.to.storage);
    }
    pair_close(&pair);
    return status;
}

static NRT_STATUS copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
                       size_t dst_offset, size_t size)
{
    struct tensor *from = tensor_get(src), *to = tensor_get(dst);
    NRT_STATUS status =
        from && to ? tensor_copy(from, src_offset, to, dst_offset, size) : NRT_INVALID_HANDLE;
    object_put(from ? &from->object : NULL);
    object_put(to ? &to->object : NULL);
    return status;
}

NRT_STATUS nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
                           size_t dst_offset, size_t size)
{
    IN_RUNTIME(copy(src, src_offset, dst, dst_offset, size));
}
