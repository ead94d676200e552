/*
 * The part of CUPTI, NVIDIA's profiling interface, that is used, declared here so that neither its
 * headers nor its library are needed to build: the library is the one the program's CUDA has, found
 * at run time. Records only ever grow at their end: the declarations are what CUDA 12 and 13 share.
 */
#ifndef KYMO_CAPTURE_CUDA_CUPTI_H
#define KYMO_CAPTURE_CUDA_CUPTI_H

#include "capture/cuda/cupti_pm.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CUPTI_SUCCESS = 0,
    CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
    CUPTI_ERROR_MULTIPLE_SUBSCRIBERS = 39,
};

enum cupti_kind {
    CUPTI_MEMCPY = 1,
    CUPTI_MEMSET = 2,
    CUPTI_KERNEL = 3,
    CUPTI_DRIVER = 4,
    CUPTI_RUNTIME = 5,
    CUPTI_DEVICE = 8,
    CUPTI_CONCURRENT_KERNEL = 10,
    CUPTI_OVERHEAD = 17,
    CUPTI_MEMCPY2 = 22,
    CUPTI_SYNCHRONIZATION = 38,
    CUPTI_MEMORY2 = 49,
    CUPTI_MEMORY_POOL = 50,
    CUPTI_GRAPH_TRACE = 51,
};

enum cupti_domain { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2, CUPTI_DOMAIN_RESOURCE = 3 };

enum cupti_resource {
    CUPTI_GRAPHNODE_CREATED = 13,
    CUPTI_GRAPHNODE_CLONED = 20,
};

enum cupti_attribute {
    CUPTI_ZEROED_OUT_BUFFER = 5,
    CUPTI_DEVICE_BUFFER_PRE_ALLOCATE = 6,
};

enum { CUPTI_POOL_LOCAL = 1 };
enum { CUPTI_FLUSH_FORCED = 1, CUPTI_THREAD_ID_SYSTEM = 1 };
enum { CUPTI_VERSION_12_9 = 27 }; /* of its interface: the first that goes on without a buffer */

struct cupti_record {
    uint32_t kind;
};

struct cupti_kernel {
    uint32_t kind;
    uint8_t cache, shared_config;
    uint16_t registers;
    uint32_t global_cache_requested, global_cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_is_requested, carveout_requested, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit, graph;
    void *access_policy;
    uint32_t channel, channel_type;
    uint32_t cluster[3];
};

struct cupti_memcpy {
    uint32_t kind;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_memcpy2 { /* between devices */
    uint32_t kind;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context, destination_device, destination_context, correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_call {
    uint32_t kind, id;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
};

struct cupti_synchronization {
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
};

struct cupti_graph_trace {
    uint32_t kind, correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
};

struct cupti_overhead {
    uint32_t kind, overhead_kind, object_kind;
    uint32_t object[3]; /* process and thread, or device, context and stream */
    uint64_t start, end;
};

struct cupti_device {
    uint32_t kind, flags;
    uint64_t memory_bandwidth, memory_size; /* KB/s, bytes */
    uint32_t constant_memory, l2_cache, threads_per_warp, core_clock, copy_engines;
    uint32_t multiprocessors, most_ipc, most_warps, most_blocks, most_shared, most_registers;
    uint32_t block_registers, block_shared, block_threads, block_dim[3], grid_dim[3];
    uint32_t compute_major, compute_minor, id, ecc;
    uint8_t uuid[16];
    const char *name;
};

struct cupti_memory {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, timestamp, program_counter;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t is_async, padding;
    uint32_t pool_type, pool_padding;
    uint64_t pool_address, pool_threshold, pool_size, pool_used;
};

struct cupti_memory_pool {
    uint32_t kind, operation, type, correlation, process, device;
    uint64_t kept_bytes, address, size, release_threshold, timestamp, used;
};

/* Where the fields are in CUDA 12.1 to 13.4 on 64-bit machines. */
static_assert(offsetof(struct cupti_kernel, start) == 16 &&
                  offsetof(struct cupti_kernel, correlation) == 92 &&
                  offsetof(struct cupti_kernel, name) == 104 &&
                  offsetof(struct cupti_kernel, graph_node) == 144 &&
                  offsetof(struct cupti_kernel, cluster) == 176,
              "kernel");
static_assert(offsetof(struct cupti_memcpy, correlation) == 44 &&
                  offsetof(struct cupti_memcpy, graph_node) == 64,
              "copy");
static_assert(offsetof(struct cupti_memcpy2, correlation) == 60 &&
                  offsetof(struct cupti_memcpy2, graph_node) == 72,
              "copy between devices");
static_assert(offsetof(struct cupti_memset, memory_kind) == 50 &&
                  offsetof(struct cupti_memset, graph_node) == 64,
              "fill");
static_assert(sizeof(struct cupti_call) == 40, "call");
static_assert(sizeof(struct cupti_synchronization) == 40, "synchronization");
static_assert(offsetof(struct cupti_graph_trace, stream) == 36, "graph");
static_assert(offsetof(struct cupti_overhead, start) == 24, "overhead");
static_assert(offsetof(struct cupti_device, id) == 112 &&
                  offsetof(struct cupti_device, name) == 136,
              "device");
static_assert(offsetof(struct cupti_memory, name) == 64 &&
                  offsetof(struct cupti_memory, pool_address) == 88 &&
                  sizeof(struct cupti_memory) == 120,
              "memory");
static_assert(sizeof(struct cupti_memory_pool) == 72, "pool");

struct cupti_graph_data {
    void *graph, *original_graph, *node, *original_node;
    uint32_t node_type;
};

struct cupti_resource_data {
    void *context, *stream;
    struct cupti_graph_data *graph;
};

typedef void (*cupti_callback)(void *user, uint32_t domain, uint32_t id, const void *data);
typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *size, size_t *most_records);
typedef void (*cupti_buffer_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                       size_t valid);

/* The functions in use; those that older versions lack may be NULL. */
#define CUPTI_FUNCTIONS(FUNCTION, OPTIONAL)                                                        \
    FUNCTION(GetVersion, (uint32_t *version))                                                      \
    FUNCTION(GetResultString, (uint32_t result, const char **text))                                \
    FUNCTION(GetCallbackName, (uint32_t domain, uint32_t id, const char **name))                   \
    FUNCTION(Subscribe, (void **subscriber, cupti_callback function, void *user))                  \
    FUNCTION(Unsubscribe, (void *subscriber))                                                      \
    FUNCTION(EnableCallback, (uint32_t enable, void *subscriber, uint32_t domain, uint32_t id))    \
    FUNCTION(ActivityRegisterCallbacks, (cupti_buffer_requested, cupti_buffer_completed))          \
    FUNCTION(ActivityEnable, (uint32_t kind))                                                      \
    FUNCTION(ActivityDisable, (uint32_t kind))                                                     \
    FUNCTION(ActivityFlushAll, (uint32_t flags))                                                   \
    FUNCTION(ActivityGetNextRecord, (uint8_t *buffer, size_t size, struct cupti_record **record))  \
    FUNCTION(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped))      \
    FUNCTION(ActivitySetAttribute, (uint32_t attribute, size_t *size, void *value))                \
    FUNCTION(ActivityRegisterTimestampCallback, (uint64_t (*function)(void)))                      \
    FUNCTION(SetThreadIdType, (uint32_t type))                                                     \
    FUNCTION(GetGraphNodeId, (void *node, uint64_t *id))                                           \
    FUNCTION(GetGraphId, (void *graph, uint32_t *id))                                              \
    OPTIONAL(ActivityEnableAndDump, (uint32_t kind))                                               \
    OPTIONAL(ActivityEnableDriverApi, (uint32_t id, uint8_t enable))                               \
    OPTIONAL(ActivityEnableRuntimeApi, (uint32_t id, uint8_t enable))                              \
    CUPTI_PM_FUNCTIONS(OPTIONAL)

struct cupti {
#define MEMBER(name, parameters) uint32_t(*name) parameters;
    CUPTI_FUNCTIONS(MEMBER, MEMBER)
#undef MEMBER
};

/* Finds the library and its functions; false when there is none: `problem` says why. */
bool cupti_load(struct cupti *cupti, char problem[static 256]);

/* A result in words. */
const char *cupti_result(const struct cupti *cupti, uint32_t result);

#endif
