/*
 * Inside timeline: an open index. All reads go through timeline_range, which checks bounds and, on
 * first use of a page, its checksum.
 */
#ifndef KYMO_STORE_TIMELINE_READ_H
#define KYMO_STORE_TIMELINE_READ_H

#include "store/timeline/format.h"
#include "store/timeline/timeline.h"

#include <stdatomic.h>

struct timeline {
    struct file file;
    char *path;
    struct trailer trailer;
    const uint64_t *checksums;
    _Atomic uint8_t *pages; /* by page: PAGE_* */
    struct timeline_track *tracks;
    const struct row_entry *rows;
    const uint64_t *name_ends;
    const char *names;
    atomic_size_t in_memory; /* number of PAGE_IN_MEMORY pages */
    atomic_flag releasing;   /* held by the thread that releases pages */
    uint64_t next_release;   /* next page to consider for release */
};

/* State of a page: not verified, verified, verified and in memory. */
enum { PAGE_UNKNOWN, PAGE_VERIFIED, PAGE_IN_MEMORY };

/* Bytes of the file; NULL, with err set, if out of bounds or damaged. */
const void *timeline_range(struct timeline *timeline, uint64_t offset, uint64_t size,
                           struct error *err);
bool timeline_damaged(const struct timeline *timeline, uint64_t offset, struct error *err);

/* Releases pages if many are in memory. */
void timeline_trim(struct timeline *timeline);

#endif
