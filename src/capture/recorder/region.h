/*
 * Mapped files that grow: the whole size is mapped at once, but only what was reserved on the disk
 * may be touched; so a full disk is a false here and never a SIGBUS. No descriptor is kept open:
 * programs close descriptors that they do not know, and have few.
 */
#ifndef KYMO_CAPTURE_RECORDER_REGION_H
#define KYMO_CAPTURE_RECORDER_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct region {
    uint8_t *base;
    size_t size, ready; /* bytes mapped; bytes that may be touched */
    dev_t device;       /* of the file */
    ino_t inode;
};

/* A new file of size bytes, of which `ready` may be touched at once. place: where to map it, over
 * what is there, or NULL. On failure errno is set and no file is left. */
bool region_create(struct region *region, const char *path, size_t size, size_t ready, void *place);
/* At least up to `ready`. The file must still be the one that was made. */
bool region_reserve(struct region *region, const char *path, size_t ready);
/* The same ahead of time, from another thread: what is between the two offsets needs less work when
 * it is reserved. Changes no byte of it. False when there is no room. */
bool region_prepare(const struct region *region, const char *path, size_t from, size_t to);
/* Truncates the file; pages beyond must not be touched any more. */
bool region_truncate(const struct region *region, const char *path, size_t size);
void region_unmap(struct region *region);
/* Unmaps file and pages, but leaves writable memory in their place for a late writer. */
void region_detach(struct region *region);

#endif
