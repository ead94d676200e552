/*
 * nrt.h: NeuronCores: loading and executing models, and the memory they work on.
 *
 * nrt_init comes first, except for nrt_get_total_*_count, nrt_get_visible_*_count, nrt_get_version
 * and nrt_get_status_as_str. Other functions return NRT_UNINITIALIZED before it and NRT_CLOSED
 * after nrt_close. All return NRT_INVALID for arguments that are NULL or out of range, and
 * NRT_INVALID_HANDLE for handles that are foreign, of another kind, or freed. All may be called
 * from any thread; handles may be shared between threads.
 *
 * A VNC is a logical NeuronCore, numbered from 0 within the visible ones; it has one or two
 * physical cores.
 */
#ifndef NRT_NRT_H
#define NRT_NRT_H

#include <nrt/nrt_status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define NRT_MAJOR_VERSION 2
#define NRT_MINOR_VERSION 0

typedef struct nrt_model nrt_model_t;
typedef struct nrt_tensor nrt_tensor_t;
typedef struct nrt_tensor_set nrt_tensor_set_t;

typedef enum {
    NRT_TENSOR_PLACEMENT_DEVICE = 0,
    NRT_TENSOR_PLACEMENT_HOST = 1,
    NRT_TENSOR_PLACEMENT_VIRTUAL = 2
} nrt_tensor_placement_t;

typedef enum {
    NRT_FRAMEWORK_TYPE_INVALID = 0,
    NRT_FRAMEWORK_TYPE_NO_FW = 1,
    NRT_FRAMEWORK_TYPE_TENSORFLOW = 2,
    NRT_FRAMEWORK_TYPE_PYTORCH = 3,
    NRT_FRAMEWORK_TYPE_MXNET = 4,
    NRT_FRAMEWORK_TYPE_PRECHECK = 5
} nrt_framework_type_t;

typedef enum {
    NRT_INSTANCE_UNKNOWN = 0,
    NRT_INSTANCE_INF1 = 1,
    NRT_INSTANCE_TRN1 = 2,
    NRT_INSTANCE_TRN1N = 3,
    NRT_INSTANCE_INF2 = 4,
    NRT_INSTANCE_TRN2 = 5,
    NRT_INSTANCE_TRN2N = 6,
    NRT_INSTANCE_INF2E = 7,
    NRT_INSTANCE_TRN2P = 8,
    NRT_INSTANCE_TRN2U = 9,
    NRT_INSTANCE_TRN2E = 10,
    NRT_INSTANCE_TRN2EU = 11,
    NRT_INSTANCE_TRN2AC = 12,
    NRT_INSTANCE_TRN2UAC = 13,
    NRT_INSTANCE_TRN3 = 14,
    NRT_INSTANCE_TRN3PDS98 = 15
} nrt_instance_type_t;

typedef enum {
    NRT_INSTANCE_SIZE_1XL,
    NRT_INSTANCE_SIZE_2XL,
    NRT_INSTANCE_SIZE_4XL,
    NRT_INSTANCE_SIZE_6XL,
    NRT_INSTANCE_SIZE_8XL,
    NRT_INSTANCE_SIZE_24XL,
    NRT_INSTANCE_SIZE_32XL,
    NRT_INSTANCE_SIZE_48XL,
    NRT_INSTANCE_SIZE_3XL,
    NRT_INSTANCE_SIZE_UNKNOWN
} nrt_instance_size_t;

typedef enum {
    NRT_DTYPE_UNKNOWN = 0x0,
    NRT_DTYPE_INVALID = 0x0,
    NRT_DTYPE_UINT64 = 0x1,
    NRT_DTYPE_INT8 = 0x2,
    NRT_DTYPE_UINT8 = 0x3,
    NRT_DTYPE_INT16 = 0x4,
    NRT_DTYPE_UINT16 = 0x5,
    NRT_DTYPE_BFLOAT16 = 0x6,
    NRT_DTYPE_FLOAT16 = 0x7,
    NRT_DTYPE_INT32 = 0x8,
    NRT_DTYPE_UINT32 = 0x9,
    NRT_DTYPE_FLOAT32 = 0xA,
    NRT_DTYPE_FP32R = 0xB,
    NRT_DTYPE_INT64 = 0xC,
    NRT_DTYPE_FP8_E3 = 0xD,
    NRT_DTYPE_FP8_E4 = 0xE,
    NRT_DTYPE_FP8_E5 = 0xF
} nrt_dtype_t;

typedef enum {
    NRT_OP_ADD = 0,
    NRT_OP_FMA = 1,
    NRT_OP_MAX = 2,
    NRT_OP_MIN = 3,
    NRT_OP_INVALID = 0xF
} nrt_op_type_t;

typedef enum {
    NRT_CC_ALLGATHER = 0,
    NRT_CC_ALLREDUCE = 1,
    NRT_CC_REDUCESCATTER = 2
} nrt_cc_op_type_t;

/* ---- The machine --------------------------------------------------------------------------- */

typedef struct nrt_instance_info {
    uint32_t family; /* nrt_instance_type_t */
    uint32_t size;   /* nrt_instance_size_t */
    char arch_name[16];
    char device_revision[8];
} nrt_instance_info_t;

/* Fills in as much of *info as fits in the size the caller passes. */
NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t instance_info_len);

/* Takes the visible cores for this process: NRT_LOAD_NOT_ENOUGH_NC when others have them,
 * NRT_INVALID when a variable cannot be read, NRT_FAILURE when called twice. The versions are for
 * tools; NO_FW passes empty ones. */
NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version,
                    const char *fal_version);
/* Ends what runs, frees all models, tensors and sets, and gives the cores back. */
void nrt_close(void);

/* Logical cores of the machine, and those this process may use. The names with nc and vnc are the
 * same. */
NRT_STATUS nrt_get_total_nc_count(uint32_t *vnc_count);
NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count);
NRT_STATUS nrt_get_visible_nc_count(uint32_t *vnc_count);
NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count);

/* ---- Models -------------------------------------------------------------------------------- */

/* vnc -1: the first core without a model, or else the one with fewest. vnc_count is obsolete: -1
 * or 1. The bytes may be freed afterwards. NRT_UNSUPPORTED_NEFF_VERSION for files that these cores
 * cannot run, NRT_LOAD_NOT_ENOUGH_NC when there are not as many cores as the file needs,
 * NRT_RESOURCE when it does not fit in the device's memory. */
NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                    nrt_model_t **model);
/* The same of a model with collectives, which is rank ctx_device_id of ctx_device_count. */
NRT_STATUS nrt_load_collectives(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                                uint32_t ctx_device_id, uint32_t ctx_device_count,
                                nrt_model_t **model);
/* Waits for executions that were scheduled. */
NRT_STATUS nrt_unload(nrt_model_t *model);
NRT_STATUS nrt_get_model_nc_count(const nrt_model_t *model, uint32_t *vnc_count);
NRT_STATUS nrt_get_model_vnc_count(const nrt_model_t *model, uint32_t *vnc_count);

/* Executes and waits. Sets need a tensor of sufficient size for each input and output:
 * NRT_EXEC_BAD_INPUT otherwise. Callers of a busy core wait for their turn. */
NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                       nrt_tensor_set_t *output_set);
/* Executes repeat_count times; the outputs of one are the inputs of the next, in their order, for
 * which each output must be as large as its input. */
NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                              nrt_tensor_set_t *output_set, int repeat_count);

/* ---- Tensor sets: names of inputs or outputs, and their tensors, which they do not own ------ */

NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **result);
/* Sets the pointer to NULL. */
void nrt_destroy_tensor_set(nrt_tensor_set_t **tensor_set);
/* Replaces a tensor of the same name. */
NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
                                        nrt_tensor_t *tensor);
/* NRT_FAILURE when there is no tensor of that name. */
NRT_STATUS nrt_get_tensor_from_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
                                          nrt_tensor_t **tensor);

/* ---- Tensors ------------------------------------------------------------------------------- */

typedef struct nrt_tensor_batch_op {
    uint64_t offset, size;
    void *buffer;
} nrt_tensor_batch_op_t;

typedef struct nrt_tensor_batch {
    const nrt_tensor_t *tensor;
    const nrt_tensor_batch_op_t *ops;
    uint32_t num_ops;
} nrt_tensor_batch_t;

typedef struct nrt_tensor_device_allocation_info {
    uint64_t physical_address;
    size_t size;
    int hbm_index;
} nrt_tensor_device_allocation_info_t;

/* Zeroed. vnc is -1 for tensors that are not on a device; name may be NULL. NRT_RESOURCE when the
 * device's memory is full. */
NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t tensor_placement, int vnc, size_t size,
                               const char *name, nrt_tensor_t **tensor);
/* Sets the pointer to NULL. The memory goes with the last slice. */
void nrt_tensor_free(nrt_tensor_t **tensor);
/* Copies to and from host memory wait for executions that use the tensor. */
NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size);
NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size);
/* All operations are checked before the first is done. unsafe: does not wait for executions. */
NRT_STATUS nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
                                 bool unsafe);
NRT_STATUS nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
                                  bool unsafe);
/* Tensors on devices must be in the same memory. */
NRT_STATUS nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
                           size_t dst_offset, size_t size);
/* 0 for an invalid handle. */
size_t nrt_tensor_get_size(const nrt_tensor_t *tensor);
NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size);
/* A tensor without memory, until a buffer of the caller is attached. */
NRT_STATUS nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor);
/* The tensor uses the caller's memory, which must outlive it, instead of its own. */
NRT_STATUS nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size);
/* A part of a tensor, sharing its memory. */
NRT_STATUS nrt_tensor_allocate_slice(const nrt_tensor_t *tensor_source, size_t offset, size_t size,
                                     const char *name, nrt_tensor_t **tensor_slice);
/* NULL when the handle is invalid or has no memory. */
void *nrt_tensor_get_va(const nrt_tensor_t *tensor);
/* NRT_INVALID for tensors that are not on a device. */
NRT_STATUS
nrt_tensor_get_device_allocation_info(const nrt_tensor_t *tensor,
                                      nrt_tensor_device_allocation_info_t *alloc_info);
/* Waits until executions have written the tensor so many times, at most timeout microseconds, a
 * negative one for ever: NRT_TIMEOUT. */
NRT_STATUS nrt_tensor_check_output_completion(const nrt_tensor_t *output_tensor, int64_t timeout,
                                              uint64_t expected_completion_count);
NRT_STATUS nrt_tensor_reset_output_completion(nrt_tensor_t *output_tensor);

/* ---- Memory of devices --------------------------------------------------------------------- */

typedef struct nrt_vnc_memory_stats {
    size_t bytes_used, bytes_limit;
} nrt_vnc_memory_stats_t;

/* NRT_INVALID when the range is not in a device's memory, else NRT_FAILURE: memory of software
 * devices is not exported by a driver. */
NRT_STATUS nrt_get_dmabuf_fd(uint64_t va, uint64_t size, int *fd);
/* The number of a device within all hosts, and the map from these to routing ids. */
NRT_STATUS nrt_host_device_id_get(int neuron_dev, uint32_t *host_device_id);
NRT_STATUS nrt_host_device_id_rid_map_get(uint32_t *count, uint32_t *host_did_to_rid_map);
/* A stack's address space; only what is allocated is accessible. */
NRT_STATUS nrt_get_hbm_mmap_va(int device_id, int hbm_idx, void **addr, size_t *size);
/* Writes as much as the caller has room for; *stats_size_out, which may be NULL, is how much. */
NRT_STATUS nrt_get_vnc_memory_stats(uint32_t vnc, nrt_vnc_memory_stats_t *stats,
                                    size_t stats_size_in, size_t *stats_size_out);
/* NRT_INVALID when the address is not in a device's memory, else NRT_FAILURE: there is no EFA. */
NRT_STATUS nrt_get_attached_efa_bdf(const void *va, char *efa_bdf, size_t *len);

/* ---- Communication ------------------------------------------------------------------------- */

typedef struct nrt_cc_comm {
    uint32_t *replica_group;
    uint32_t rank, rank_n;
    uint32_t ctx_device_id, ctx_device_count;
    uint32_t vnc;
} nrt_cc_comm_t;

typedef struct nrt_tensor_list {
    nrt_tensor_t **tensors;
    size_t num_tensors;
} nrt_tensor_list_t;

/* Makes the core rank g_device_id of g_device_count; nrt_load_collectives does it otherwise. */
NRT_STATUS nrt_build_global_comm(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count);
NRT_STATUS nrt_cc_global_comm_init(uint32_t vnc, uint32_t g_device_id, uint32_t g_device_count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
