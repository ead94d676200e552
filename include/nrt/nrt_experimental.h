/*
 * nrt_experimental.h: what models consist of, a trace of the process, collectives of the host.
 */
#ifndef NRT_NRT_EXPERIMENTAL_H
#define NRT_NRT_EXPERIMENTAL_H

#include <nrt/nrt.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum nrt_tensor_usage {
    NRT_TENSOR_USAGE_INPUT = 0,
    NRT_TENSOR_USAGE_OUTPUT = 1
} nrt_tensor_usage_t;

#define NRT_TENSOR_NAME_MAX 256

typedef struct nrt_tensor_info {
    char name[NRT_TENSOR_NAME_MAX];
    nrt_tensor_usage_t usage;
    size_t size; /* bytes */
    nrt_dtype_t dtype;
    uint32_t *shape;
    uint32_t ndim;
} nrt_tensor_info_t;

typedef struct nrt_tensor_info_array {
    uint64_t tensor_count;
    nrt_tensor_info_t tensor_array[];
} nrt_tensor_info_array_t;

typedef struct nrt_model_info {
    uint32_t vnc;
} nrt_model_info_t;

typedef struct nrt_ucode_img {
    uint8_t *bin;
    size_t size;
} nrt_ucode_img;

typedef struct nrt_ucode_info {
    nrt_ucode_img iram, dram;
} nrt_ucode_info;

typedef void (*NRT_ASYNC_EXEC_STATUS_CALLBACK)(void *params, uint32_t model_id, uint32_t vnc,
                                               uint64_t job_id, NRT_STATUS status);

/* Inputs, then outputs. Freed by nrt_free_model_tensor_info, which returns NRT_INVALID_HANDLE for
 * anything else. */
NRT_STATUS nrt_get_model_tensor_info(nrt_model_t *model, nrt_tensor_info_array_t **tensor_info);
NRT_STATUS nrt_free_model_tensor_info(nrt_tensor_info_array_t *tensor_info);
/* How many copies of the model are loaded on cores of their own: 1. */
NRT_STATUS nrt_get_model_instance_count(nrt_model_t *model, uint32_t *instance_count);
/* Writes as much as the caller has room for; *info_size_out, which may be NULL, is how much. */
NRT_STATUS nrt_get_model_info(const nrt_model_t *model, nrt_model_info_t *info, size_t info_size_in,
                              size_t *info_size_out);

/* Events of all cores from start to stop, written to the file as nrt_sys_trace_fetch_events gives
 * them. trace_mem: events of memory as well. NRT_FAILURE while another trace is running. */
NRT_STATUS nrt_trace_start(bool trace_mem);
NRT_STATUS nrt_trace_stop(const char *filename);

/* NULL, with *err set and a message: there is no network plugin. */
void *nrt_get_libnccl_net(int *err, char *err_msg, size_t err_msg_size);
/* NRT_FAILURE: the GpSimd engine of software cores takes no microcode. */
NRT_STATUS nrt_set_pool_eng_ucode(const nrt_ucode_info *ucode_info);
/* dest is an address in a device's memory, as nrt_tensor_get_va gives it. */
NRT_STATUS nrt_memcpy_to_device(void *dest, const void *src, size_t size);

/* Called after each execution that was scheduled, by the core's thread; NULL: none. */
NRT_STATUS nrt_register_async_exec_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK callback, void *params);
/* Waits for all executions scheduled on a core so far. */
NRT_STATUS nrt_async_drain_queued_execs(int32_t vnc);

/* Between the ranks; all of them call it. */
NRT_STATUS nrt_barrier(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count);
/* input has rank_input_size bytes, output g_device_count times as many. */
NRT_STATUS nrt_all_gather(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count,
                          uint32_t rank_input_size, void *input, void *output);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
