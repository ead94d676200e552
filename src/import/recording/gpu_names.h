/*
 * Names in a GPU recording: kernels, copies, calls, and the operations of XLA's programs that work
 * was launched for.
 */
#ifndef KYMO_IMPORT_RECORDING_GPU_NAMES_H
#define KYMO_IMPORT_RECORDING_GPU_NAMES_H

#include "import/recording/gpu_file.h"
#include "import/recording/recording_passes.h"

/* Args of events, named as in XPlane files. */
enum gpu_key {
    KEY_CORRELATION,
    KEY_KERNEL,
    KEY_OCCUPANCY,
    KEY_COPY,
    KEY_SET,
    KEY_CONTEXT,
    KEY_STREAM,
    KEY_EVENT,
    KEY_OPERATION,
    KEY_MODULE,
    KEY_PROGRAM,
    KEY_NAME,
    KEY_GRAPH,
    KEY_NODE,
    KEY_RESULT,
    KEY_FILE,
    KEY_LINE,
    KEY_ALLOCATOR,
    KEY_BYTES,
    KEY_ADDRESS,
    KEY_USED,
    KEY_RESERVED,
    KEY_DEVICE,
    KEY_MEMORY_KIND,
    KEY_THRESHOLD,
    GPU_KEYS
};

/* An operation as described by ranges; strings, STRING_NONE for none. */
struct gpu_operation {
    uint32_t operation, name, module;
    uint64_t program;
    struct source_line source; /* from PyTorch's operators; no file for none */
};

enum { GPU_COPY_KINDS = 11, GPU_WAIT_KINDS = 5, GPU_OVERHEAD_KINDS = 9, GPU_SET_VALUES = 256 };
enum { GPU_POOL_OPERATIONS = 4 };

struct gpu_names {
    uint32_t keys[GPU_KEYS];
    uint32_t *kernels, *kernel_details; /* by shape: types, strings */
    double *occupancies;                /* by shape; percent */
    uint32_t *contexts;                 /* by stream; strings */
    uint32_t *calls;                    /* types by text; 0 until one is needed */
    uint32_t *sets;                     /* types by value and one for others; 0 until needed */
    uint32_t copies[GPU_COPY_KINDS], waits[GPU_WAIT_KINDS], overheads[GPU_OVERHEAD_KINDS];
    uint32_t graph, window, memory, allocation, release, pools[GPU_POOL_OPERATIONS];
    struct gpu_operation *nodes; /* of graphs' nodes, by index */
    struct idmap call_by_correlation;
    ARRAY(struct gpu_operation) launches; /* of calls */
};

void gpu_names_read(struct gpu_names *names, const struct gpu_file *file,
                    struct recording *recording, const struct process *process);
void gpu_names_free(struct gpu_names *names);

uint32_t gpu_call_type(struct gpu_names *names, const struct gpu_file *file,
                       struct recording *recording, uint64_t text);
uint32_t gpu_set_type(struct gpu_names *names, struct recording *recording, uint64_t value);
uint32_t gpu_overhead_type(const struct gpu_names *names, uint64_t kind);
/* The name of a counter with its unit, and the divisor of its samples. An unknown id is its own
 * name. */
struct text gpu_counter_name(struct text id, double *divisor);
/* The operation of a graph's node, otherwise of the call that launched it; NULL when unknown. */
const struct gpu_operation *gpu_operation_of(const struct gpu_names *names,
                                             const struct gpu_file *file, uint64_t node,
                                             uint64_t correlation);

#endif
