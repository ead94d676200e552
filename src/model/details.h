/*
 * Parses details of device work. XLA's GPU tracer writes all in one string, such as "regs:29
 * static_shared:0 dynamic_shared:0 grid:8192,1,1 block:128,1,1 occ_pct:100"; before 2020 it wrote
 * "regs:29 shm:0 grid:... block:...", and its tracer for ROCm writes "grid:... block:...
 * private_mem:0 group_mem:16384 occ_pct:0". torch.profiler writes lists, such as "[8192, 1, 1]",
 * and names copies "Memcpy HtoD (Pinned -> Device)".
 */
#ifndef KYMO_MODEL_DETAILS_H
#define KYMO_MODEL_DETAILS_H

#include "base/base.h"

/* Values that the text does not state, or cannot know, are absent. */
struct kernel_details {
    bool has_registers, has_shared, has_shared_parts, has_occupancy;
    bool is_whole; /* the text contains nothing else */
    int64_t registers;
    int64_t shared; /* per block; its parts are: */
    int64_t static_shared, dynamic_shared;
    int64_t grid[3], block[3];
    double occupancy;
};

struct copy_details {
    int64_t bytes;
    struct text source_kind, destination_kind; /* empty if unknown */
    bool has_peer;
    int64_t peer;
    bool is_async;
};

/* All three: false if the text has another form or contains anything more. */
bool read_kernel_details(struct text text, struct kernel_details *details);
bool read_copy_details(struct text text, struct copy_details *details);
bool read_set_details(struct text text, struct copy_details *details);

/* A JSON list of three integers. */
bool read_triple(struct text text, int64_t numbers[3]);
/* The memory kinds in a copy's name, as "Memcpy HtoD (Pinned -> Device)", "MemcpyH2D" and
 * "CopyHostToDevice" do; false if it has none. */
bool read_copy_kinds(struct text name, struct text *source, struct text *destination);

#endif
