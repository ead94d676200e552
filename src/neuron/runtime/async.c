/*
 * nrt_async.h: requests of execution units, and how their completion is reported.
 */
#include "base/base.h"
#include "capture/neuron/trace.h"
#include "neuron/runtime/execute.h"
#include "neuron/runtime/tensor.h"
#include "neuron/runtime/tracker.h"

#include <errno.h>
#include <fcntl.h>
#include <nrt/nrt_async.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The caller's tracker, if there is one; false: an invalid handle. */
static bool attach_tracker(struct runtime_request *request, nrta_error_tracker_t *handle)
{
    request->errors = handle ? object_get(handle, OBJECT_TRACKER) : NULL;
    return !handle || request->errors;
}

/* ---- Tensors ------------------------------------------------------------------------------- */

struct tensor_request {
    struct runtime_request request;
    struct tensor *from, *to; /* one of them is NULL for host memory */
    const void *source;
    void *target;
    uint64_t from_offset, to_offset, size;
};

static NRT_STATUS run_tensor(struct runtime_request *request)
{
    const struct tensor_request *work = (const struct tensor_request *)request;
    if (!work->from)
        return tensor_write(work->to, work->source, work->to_offset, work->size);
    if (!work->to)
        return tensor_read(work->from, work->target, work->from_offset, work->size);
    return tensor_copy(work->from, work->from_offset, work->to, work->to_offset, work->size);
}

static void release_tensor(struct runtime_request *request)
{
    struct tensor_request *work = (struct tensor_request *)request;
    object_put(work->from ? &work->from->object : NULL);
    object_put(work->to ? &work->to->object : NULL);
    tracker_put(request->errors);
    mem_free(work);
}

static NRT_STATUS check_tensor(const struct tensor_request *work)
{
    if (!work->from)
        return work->source ? tensor_range_check(work->to, work->to_offset, work->size)
                            : NRT_INVALID;
    if (!work->to)
        return work->target ? tensor_range_check(work->from, work->from_offset, work->size)
                            : NRT_INVALID;
    return tensor_copy_check(work->from, work->from_offset, work->to, work->to_offset, work->size);
}

/* The core whose memory it is; of host memory, the first. */
static struct vnc *core_of(const struct tensor_request *work)
{
    struct vnc *vnc = NULL;
    struct tensor *ends[] = {work->from, work->to};
    for (size_t i = 0; i < 2 && !vnc; i++)
        if (ends[i]) {
            struct view view = tensor_view(ends[i]);
            vnc = view.vnc;
            view_put(&view);
        }
    return vnc ? vnc : &vncs[0];
}

static NRT_STATUS schedule_tensor(const struct tensor_request *what, bool has_tensors, int queue,
                                  nrta_error_tracker_t *err, nrta_seq_t *sequence)
{
    enum { QUEUES = QUEUE_COLLECTIVE - QUEUE_TENSOR };
    struct tensor_request *work = mem_alloc(sizeof *work);
    *work = *what;
    work->request.run = run_tensor;
    work->request.release = release_tensor;
    NRT_STATUS status = NRT_INVALID_HANDLE;
    if (has_tensors && attach_tracker(&work->request, err))
        status = queue >= 0 && queue < QUEUES ? check_tensor(work) : NRT_INVALID;
    if (status == NRT_SUCCESS)
        status =
            queue_submit(&core_of(work)->queues[QUEUE_TENSOR + queue], &work->request, sequence);
    if (status != NRT_SUCCESS)
        release_tensor(&work->request);
    return status;
}

static NRT_STATUS schedule_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset,
                                 uint64_t size, int queue, nrta_error_tracker_t *err,
                                 nrta_seq_t *sequence)
{
    struct tensor_request work = {
        .to = tensor_get(tensor), .source = buf, .to_offset = offset, .size = size};
    return schedule_tensor(&work, work.to, queue, err, sequence);
}

NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset, uint64_t size,
                             int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
    IN_RUNTIME(schedule_write(tensor, buf, offset, size, queue, err, req_sequence));
}

static NRT_STATUS schedule_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
                                int queue, nrta_error_tracker_t *err, nrta_seq_t *sequence)
{
    struct tensor_request work = {
        .from = tensor_get(tensor), .target = buf, .from_offset = offset, .size = size};
    return schedule_tensor(&work, work.from, queue, err, sequence);
}

NRT_STATUS nrta_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
                            int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
    IN_RUNTIME(schedule_read(buf, tensor, offset, size, queue, err, req_sequence));
}

static NRT_STATUS schedule_copy(const struct tensor_request *what, nrt_tensor_t *src,
                                nrt_tensor_t *dst, int queue, nrta_error_tracker_t *err,
                                nrta_seq_t *sequence)
{
    struct tensor_request work = *what;
    work.from = tensor_get(src);
    work.to = tensor_get(dst);
    return schedule_tensor(&work, work.from && work.to, queue, err, sequence);
}

NRT_STATUS nrta_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
                            uint64_t dst_offset, uint64_t size, int queue,
                            nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
    const struct tensor_request work = {
        .from_offset = src_offset, .to_offset = dst_offset, .size = size};
    IN_RUNTIME(schedule_copy(&work, src, dst, queue, err, req_sequence));
}

/* ---- Executions ---------------------------------------------------------------------------- */

/* Once submitted, the request belongs to the queue, which may have freed it already: only `number`
 * is used then. */
static NRT_STATUS schedule_execution(nrt_model_t *model, const nrt_tensor_set_t *input,
                                     nrt_tensor_set_t *output, int queue, nrta_error_tracker_t *err,
                                     nrta_seq_t *sequence)
{
    NRT_STATUS status = NRT_INVALID;
    struct vnc *vnc;
    if (queue != 0)
        return status;
    struct runtime_request *request = execution_new(model, input, output, 1, &vnc, &status);
    if (!request)
        return status;
    uint64_t id = trace_next_id(), number = 0;
    trace_event(EVENT_nrta_execute_schedule, vnc->index, TRACE_START, id);
    execution_set_scheduled(request);
    status = attach_tracker(request, err)
                 ? queue_submit(&vnc->queues[QUEUE_COMPUTE], request, &number)
                 : NRT_INVALID_HANDLE;
    if (status != NRT_SUCCESS)
        request->release(request);
    else if (sequence)
        *sequence = number;
    trace_event(EVENT_nrta_execute_schedule, vnc->index, TRACE_STOP, id,
                kymo_uint("sequence_id", number));
    return status;
}

NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
                                 nrt_tensor_set_t *output, int queue, nrta_error_tracker_t *err,
                                 nrta_seq_t *req_sequence)
{
    IN_RUNTIME(schedule_execution(model, input, output, queue, err, req_sequence));
}

/* ---- Completion ---------------------------------------------------------------------------- */

/* NULL when the sequence belongs to no queue. */
static struct queue *queue_of(nrta_seq_t sequence)
{
    nrta_xu_id_t id = NRTA_SEQ_GET_XU_ID(sequence);
    struct vnc *vnc = vnc_at(id >> 4);
    return vnc && (id & 15) < CORE_QUEUES ? &vnc->queues[id & 15] : NULL;
}

static struct queue *queue_named(int64_t core, nrta_xu_t xu, int queue)
{
    static const struct {
        int first, count;
    } units[NRTA_XU_TYPE_NUM] = {[NRTA_XU_TENSOR_OP] = {QUEUE_TENSOR, 2},
                                 [NRTA_XU_COMPUTE] = {QUEUE_COMPUTE, 1},
                                 [NRTA_XU_COLLECTIVES] = {QUEUE_COLLECTIVE, 3}};
    struct vnc *vnc = vnc_at(core);
    if (!vnc || (unsigned)xu >= NRTA_XU_TYPE_NUM || queue < 0 || queue >= units[xu].count)
        return NULL;
    return &vnc->queues[units[xu].first + queue];
}

static NRT_STATUS is_completed(nrta_seq_t sequence, bool *result)
{
    struct queue *queue = queue_of(sequence);
    if (!queue || !result)
        return NRT_INVALID;
    return queue_is_completed(queue, NRTA_SEQ_GET_SEQ_NUM(sequence), result) ? NRT_SUCCESS
                                                                             : NRT_INVALID;
}

NRT_STATUS nrta_is_completed(nrta_seq_t seq, bool *completed)
{
    IN_RUNTIME(is_completed(seq, completed));
}

static NRT_STATUS get_sequence(uint32_t core, nrta_xu_t xu, int number, nrta_seq_t *sequence)
{
    struct queue *queue = queue_named(core, xu, number);
    if (!queue || !sequence)
        return NRT_INVALID;
    *sequence = (uint64_t)queue->id << 48 | queue_last_completed(queue);
    return NRT_SUCCESS;
}

NRT_STATUS nrta_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq)
{
    IN_RUNTIME(get_sequence(lnc, xu, queue, seq));
}

/* The queue signals a descriptor of its own, so that the caller may close the other at any time. */
static int duplicate(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static NRT_STATUS watch(nrta_seq_t sequence, int fd)
{
    struct queue *queue = queue_of(sequence);
    int own = queue ? duplicate(fd) : -1;
    if (own < 0)
        return queue && errno == EMFILE ? NRT_RESOURCE : NRT_INVALID;
    if (!queue_watch(queue, NRTA_SEQ_GET_SEQ_NUM(sequence), own)) {
        close(own);
        return NRT_INVALID;
    }
    return NRT_SUCCESS;
}

NRT_STATUS nrta_event_register_seq_id_completion(nrta_seq_t seq, int fd)
{
    IN_RUNTIME(watch(seq, fd));
}

static NRT_STATUS completion_handle(nrta_seq_t sequence, int *fd)
{
    if (!fd)
        return NRT_INVALID;
    int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made < 0)
        return NRT_RESOURCE;
    NRT_STATUS status = watch(sequence, made);
    if (status == NRT_SUCCESS)
        *fd = made;
    else
        close(made);
    return status;
}

NRT_STATUS nrta_get_completion_handle(nrta_seq_t seq, int *fd)
{
    IN_RUNTIME(completion_handle(seq, fd));
}

static NRT_STATUS watch_every(int core, nrta_xu_t xu, int number, int fd)
{
    struct queue *queue = queue_named(core, xu, number);
    int own = queue && fd >= 0 ? duplicate(fd) : -1;
    if (!queue || (fd >= 0 && own < 0))
        return queue && errno == EMFILE ? NRT_RESOURCE : NRT_INVALID;
    queue_watch_every(queue, own);
    return NRT_SUCCESS;
}

NRT_STATUS nrta_event_register_xu_completion(int lnc, nrta_xu_t xu, int queue, int fd)
{
    IN_RUNTIME(watch_every(lnc, xu, queue, fd));
}
