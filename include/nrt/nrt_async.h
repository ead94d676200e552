/*
 * nrt_async.h: work that is scheduled and completes later, version 2 of the interface.
 *
 * Each core has execution units: COMPUTE with one queue, TENSOR_OP with two, COLLECTIVES with
 * three. A queue completes its requests in order; between queues there is no order. A full queue
 * gives NRT_QUEUE_FULL. What a request uses must stay until it is complete.
 */
#ifndef NRT_NRT_ASYNC_H
#define NRT_NRT_ASYNC_H

#include <nrt/nrt.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum {
    NRTA_XU_TENSOR_READ = 0,
    NRTA_XU_TENSOR_WRITE = 1,
    NRTA_XU_TENSOR_OP = 2, /* reads, writes and copies */
    NRTA_XU_COMPUTE = 3,
    NRTA_XU_COLLECTIVES = 4,
    NRTA_XU_TYPE_NUM
} nrta_xu_t;

/* The queue in the upper 16 bits, its request, counted from 1, in the lower 48. */
typedef uint64_t nrta_seq_t;
typedef uint16_t nrta_xu_id_t;
#define NRTA_SEQ_NUM_MAX          ((UINT64_C(1) << 48) - 1)
#define NRTA_SEQ_GET_SEQ_NUM(seq) ((seq) & NRTA_SEQ_NUM_MAX)
#define NRTA_SEQ_GET_XU_ID(seq)   ((nrta_xu_id_t)((seq) >> 48))

typedef struct nrta_error {
    nrta_seq_t seq_id;
    uint64_t error_code; /* NRT_STATUS */
} nrta_error_t;
typedef struct nrta_error_tracker nrta_error_tracker_t;
typedef struct nrt_cc_context nrt_cc_context_t;

/* err may be NULL, or a tracker that gets the request's status when it is not NRT_SUCCESS.
 * req_sequence may be NULL. */
NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset, uint64_t size,
                             int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence);
NRT_STATUS nrta_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
                            int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence);
NRT_STATUS nrta_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
                            uint64_t dst_offset, uint64_t size, int queue,
                            nrta_error_tracker_t *err, nrta_seq_t *req_sequence);
/* queue must be 0. */
NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
                                 nrt_tensor_set_t *output, int queue, nrta_error_tracker_t *err,
                                 nrta_seq_t *req_sequence);

/* A collective of tensors in the memory of comm->vnc; comm->replica_group lists comm->rank_n global
 * ranks, comm->rank is the index of this one. */
NRT_STATUS nrta_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input, nrt_tensor_list_t *output,
                           nrt_dtype_t dtype, nrt_op_type_t op, nrt_cc_op_type_t cc_op,
                           nrt_cc_context_t **cc_ctx);
/* Takes the context: the pointer becomes NULL when the request was accepted. */
NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, nrta_error_tracker_t *err,
                            nrta_seq_t *req_sequence);

/* NRT_INVALID for a sequence that was never given out. */
NRT_STATUS nrta_is_completed(nrta_seq_t seq, bool *is_completed);
/* The last request of the queue that is complete; its number is 0 before the first. */
NRT_STATUS nrta_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq);
/* A descriptor that is readable once the request is complete; the caller closes it. */
NRT_STATUS nrta_get_completion_handle(nrta_seq_t seq, int *fd);
/* Adds 1 to the caller's eventfd when the request, or each request of a queue, is complete. A
 * negative descriptor ends the latter. */
NRT_STATUS nrta_event_register_seq_id_completion(nrta_seq_t seq, int fd);
NRT_STATUS nrta_event_register_xu_completion(int lnc, nrta_xu_t xu, int queue, int fd);

NRT_STATUS nrta_error_tracker_create(uint32_t lnc_idx, nrta_error_tracker_t **error_tracker);
void nrta_error_tracker_destroy(nrta_error_tracker_t *error_tracker);
/* Errors since the last call; the list is valid until the next one. */
NRT_STATUS nrta_error_tracker_get_list(nrta_error_tracker_t *error_tracker,
                                       const nrta_error_t **list, size_t *error_count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
