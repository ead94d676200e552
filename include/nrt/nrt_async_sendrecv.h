/*
 * nrt_async_sendrecv.h: messages between cores. A core connects to send, its peer accepts to
 * receive; the n-th send of a communicator meets the n-th receive.
 */
#ifndef NRT_NRT_ASYNC_SENDRECV_H
#define NRT_NRT_ASYNC_SENDRECV_H

#include <nrt/nrt.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct nrt_async_sendrecv_comm nrt_async_sendrecv_comm_t;
typedef struct nrt_async_sendrecv_request nrt_async_sendrecv_request_t;

NRT_STATUS nrt_async_sendrecv_get_max_num_communicators_per_lnc(int *num);
NRT_STATUS nrt_async_sendrecv_get_max_num_pending_request(int *num);
/* Before anything else on a core. */
NRT_STATUS nrt_async_sendrecv_init(int lnc);
/* Frees the core's communicators and requests. */
NRT_STATUS nrt_async_sendrecv_close(int lnc);
/* Returns at once; nrt_async_sendrecv_test_comm tells when the peer is there. With
 * NEURON_RT_ROOT_COMM_ID, peer_lnc is the number of the core on its machine, and may be of another
 * process; else the index of a core of this process. */
NRT_STATUS nrt_async_sendrecv_connect(const char *peer_ip, int peer_lnc, int lnc,
                                      nrt_async_sendrecv_comm_t **send_comm);
NRT_STATUS nrt_async_sendrecv_accept(const char *peer_ip, int peer_lnc, int lnc,
                                     nrt_async_sendrecv_comm_t **recv_comm);
NRT_STATUS nrt_async_sendrecv_test_comm(nrt_async_sendrecv_comm_t *comm, bool *done);
/* NRT_RESOURCE when as many requests as allowed are pending. */
NRT_STATUS nrt_async_sendrecv_send_tensor(nrt_tensor_t *tensor, size_t offset, size_t length,
                                          nrt_async_sendrecv_comm_t *send_comm,
                                          nrt_async_sendrecv_request_t **request);
NRT_STATUS nrt_async_sendrecv_recv_tensor(nrt_tensor_t *tensor, size_t offset, size_t length,
                                          nrt_async_sendrecv_comm_t *recv_comm,
                                          nrt_async_sendrecv_request_t **request);
/* *size is what was transferred: the smaller of both lengths. A request that is done is freed. */
NRT_STATUS nrt_async_sendrecv_test_request(nrt_async_sendrecv_request_t *request, bool *done,
                                           size_t *size);
/* Makes what was received visible to the core. */
NRT_STATUS nrt_async_sendrecv_flush(int lnc);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
