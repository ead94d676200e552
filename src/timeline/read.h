/*
 * Inside timeline: the opened index. Everything read from the file goes through timeline_range,
 * which checks that it is there and, the first time, that its checksum is right.
 */
#ifndef KYMO_TIMELINE_READ_H
#define KYMO_TIMELINE_READ_H

#include "timeline/format.h"
#include "timeline/timeline.h"

#include <stdatomic.h>

struct timeline {
    struct file file;
    char *path;
    struct trailer trailer;
    const uint64_t *checksums;
    _Atomic uint8_t *pages; /* by page: see below */
    struct timeline_track *tracks;
    const struct row_entry *rows;
    const uint64_t *name_ends;
    const char *names;
    atomic_size_t in_memory; /* how many pages are */
    atomic_flag letting_go;  /* one thread at a time does */
    uint64_t next_to_go;     /* the page to look at next when some have to go */
};

/* What is known of a page: nothing, that it is sound, that it is sound and in memory. */
enum { PAGE_UNKNOWN, PAGE_SOUND, PAGE_IN_MEMORY };

/* Bytes of the file, NULL (and err) when they are not there or are damaged. */
const void *timeline_range(struct timeline *timeline, uint64_t offset, uint64_t size,
                           struct error *err);
bool timeline_damaged(const struct timeline *timeline, uint64_t offset, struct error *err);

/* Gives memory back when many pages are in it. */
void timeline_let_go(struct timeline *timeline);

#endif
