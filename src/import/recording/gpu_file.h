/*
 * gpu_trace.pb (schema/gpu_trace.proto): its definitions, and a walk over its activities.
 */
#ifndef KYMO_IMPORT_RECORDING_GPU_FILE_H
#define KYMO_IMPORT_RECORDING_GPU_FILE_H

#include "base/wire/wire.h"

struct gpu_device {
    uint32_t id, name, compute_major, compute_minor;
    uint64_t memory_bytes, memory_bytes_per_s;
    uint32_t multiprocessors, clock_khz, warps, warp_threads, blocks, registers, shared;
    uint32_t block_registers, block_shared;
};

struct gpu_stream {
    uint32_t device, context, stream;
};

struct gpu_shape {
    uint32_t name; /* text */
    uint32_t grid[3], block[3], cluster[3];
    uint32_t registers, static_shared, dynamic_shared, executed_shared, local, launch_type;
};

/* The operation of a program that a graph's node was made for; texts, 0 for none. */
struct gpu_node {
    uint64_t original; /* the node it is a copy of, 0 for none */
    uint32_t range;    /* the NVTX range it was made in */
};

struct gpu_file {
    const uint8_t *data;
    size_t size;              /* up to the first damage */
    const char *damage;       /* NULL if it has none */
    size_t left_out;          /* bytes after it */
    ARRAY(struct text) texts; /* in these lists, number 0 means none */
    ARRAY(struct gpu_device) devices;
    ARRAY(struct gpu_stream) streams;
    ARRAY(struct gpu_shape) shapes;
    ARRAY(struct gpu_node) nodes;
    struct idmap node_by_id;
    struct idmap thread_names; /* texts by thread */
    uint64_t lost, lost_samples;
};

/* Activities; numbers are the fields of GpuTrace. */
enum gpu_table {
#define X(table, field, columns, differences) GPU_##table = field,
#include "capture/cuda/gpu_trace.def"
#undef X
    GPU_TABLES
};
enum { GPU_COLUMNS = 13 };

/* Whether rows of a table are activities; nodes describe later launches. */
static inline bool gpu_is_activity(enum gpu_table table)
{
    return table != GPU_NODES;
}

/* Reads the definitions and nodes; data and size are set. The file ends at its first damage: a
 * killed program may leave half a message. */
void gpu_file_read(struct gpu_file *file);
void gpu_file_free(struct gpu_file *file);

/* Calls visit for each activity, its values in the order of its message's fields. A visit that
 * returns false ends the walk. */
typedef bool gpu_visit(void *context, enum gpu_table table, const uint64_t *values);
bool gpu_file_walk(const struct gpu_file *file, gpu_visit *visit, void *context);

static inline struct text gpu_text(const struct gpu_file *file, uint64_t id)
{
    return id < file->texts.count ? file->texts.items[id] : TEXT("");
}

/* The range in which a node, or the one it is a copy of, was first made, and that in which the copy
 * was made. */
void gpu_node_ranges(const struct gpu_file *file, uint32_t index, struct text *first,
                     struct text *last);

#endif
