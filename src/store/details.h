/*
 * Details: what XLA's GPU tracer says about device work in one text, such as
 * "regs:29 static_shared:0 dynamic_shared:0 grid:8192,1,1 block:128,1,1 occ_pct:100".
 */
#ifndef KYMO_STORE_DETAILS_H
#define KYMO_STORE_DETAILS_H

#include "base/base.h"

struct kernel_details {
    int64_t registers, static_shared, dynamic_shared;
    int64_t grid[3], block[3];
    double occupancy;
};

struct copy_details {
    int64_t bytes;
    struct text source_kind, destination_kind; /* empty when not told */
    bool has_peer;
    int64_t peer;
    bool is_async;
};

/* All three: false when the text is not of that shape or says more than that. */
bool read_kernel_details(struct text text, struct kernel_details *details);
bool read_copy_details(struct text text, struct copy_details *details);
bool read_set_details(struct text text, struct copy_details *details);

#endif
