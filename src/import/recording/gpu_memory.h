/*
 * Memory in a GPU recording: allocations and releases, as events of an allocator and as counters of
 * devices and pools.
 */
#ifndef KYMO_IMPORT_RECORDING_GPU_MEMORY_H
#define KYMO_IMPORT_RECORDING_GPU_MEMORY_H

#include "import/recording/gpu_file.h"

/* An allocation, a release, or an operation on a pool. */
struct gpu_memory_change {
    uint64_t time_ns, bytes, address, correlation;
    uint64_t pool, pool_bytes, pool_used; /* its address, 0 for none; afterward */
    uint64_t threshold;
    uint32_t operation, kind, device;
    bool is_of_pool;
};

/* Where memory comes from: a device's or the host's of a kind, or a pool. */
struct gpu_allocator {
    uint64_t pool;
    uint32_t kind, device;
    uint32_t name;       /* string */
    uint32_t size, used; /* tracks of a pool; TRACK_NONE */
    int64_t bytes;       /* in use */
};

/* A device's memory, of all allocators. */
struct gpu_memory_use {
    uint32_t device, track;
    int64_t bytes;
};

struct gpu_memory {
    ARRAY(struct gpu_memory_change) changes; /* in order of time */
    ARRAY(struct gpu_allocator) allocators;
    ARRAY(struct gpu_memory_use) uses;
    uint32_t pools; /* so far */
    uint32_t lane;  /* track */
};

/* CUPTI's kinds of memory in words. */
const char *gpu_memory_kind(uint64_t kind);

/* Takes a row of any table of the file; rows are sorted when all have been taken. */
void gpu_memory_collect(struct gpu_memory *memory, enum gpu_table table, const uint64_t *values);
void gpu_memory_sort(struct gpu_memory *memory);
void gpu_memory_free(struct gpu_memory *memory);

struct gpu_pass;
bool gpu_memory_take(struct gpu_memory *memory, const struct gpu_pass *pass);

#endif
