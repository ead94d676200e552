/*
 * Memory that a module needs, as the compiler assigned it: which buffers live when, and which of
 * them at the peak. The heap is simulated from the compiler's trace of allocations; parameters,
 * results and constants live all the time. Thread-local allocations are not in the device's memory.
 */
#ifndef KYMO_HLO_MEMORY_H
#define KYMO_HLO_MEMORY_H

#include "hlo/module.h"

enum hlo_memory_group {
    HLO_GROUP_PARAMETER,
    HLO_GROUP_OUTPUT,
    HLO_GROUP_THREAD_LOCAL,
    HLO_GROUP_CONSTANT,
    HLO_GROUP_TEMPORARY,
};

struct hlo_allocation {
    int64_t index, size, space;
    bool is_parameter, is_output, is_thread_local, is_constant, is_tuple;
    bool is_permanent; /* not in the trace */
    enum hlo_memory_group group;
    struct pb_reader bytes;
};

struct hlo_buffer {
    int64_t id, size, unpadded_size, offset, space;
    uint32_t allocation;           /* index in hlo_memory.allocations */
    uint32_t instruction;          /* that makes it */
    const struct hlo_shape *shape; /* its own, in the instruction's */
    int64_t *path;                 /* where its shape is in the instruction's */
    uint32_t path_size;
    int64_t start, limit; /* events between which it lives; start -1 if in no trace */
    uint32_t shares_with; /* buffer, or HLO_NONE */
    /* While the trace is run through. */
    int64_t references, alive_since;
    uint32_t shown_as;
};

struct hlo_memory {
    struct arena memory;
    int64_t space;
    ARRAY(struct hlo_allocation) allocations; /* by index */
    ARRAY(struct hlo_buffer) buffers;
    struct idmap by_id; /* buffer's id -> index */
    /* Before each event of the trace and after the last, without permanent buffers. */
    ARRAY(int64_t) heap_bytes, unpadded_bytes;
    ARRAY(struct text) instructions;                        /* of the events; the last is empty */
    int64_t peak_bytes, peak_unpadded_bytes, peak_position; /* of the trace */
    ARRAY(uint32_t) peak; /* buffers live at the peak, permanent ones first */
    int64_t permanent_bytes, total_bytes;
    int64_t parameter_bytes, output_bytes, fixed_bytes; /* fixed: never reused for others */
};

/* Of one memory space: 0 is the device's main memory. False when the trace contradicts itself. */
bool hlo_memory_read(struct hlo_memory *memory, const struct hlo_module *module, int64_t space,
                     struct error *err);
void hlo_memory_free(struct hlo_memory *memory);
/* Whether an allocation is in the memory space and permanent; thread-local ones do not count. */
bool hlo_is_permanent(const struct hlo_memory *memory, const struct hlo_allocation *allocation);
const char *hlo_memory_group_name(enum hlo_memory_group group);
/* XProf's memory_viewer, whose fields have these names. The colors are our own. */
void hlo_memory_json(struct output *out, const struct hlo_module *module,
                     const struct hlo_memory *memory);

#endif
