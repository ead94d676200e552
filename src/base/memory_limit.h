/*
 * Limit on the program's resident memory. File-backed mappings are registered here; when the
 * program grows beyond the limit, their pages are dropped. Nothing is lost: changed pages stay in
 * the page cache, and all are read back on access.
 */
#ifndef KYMO_BASE_MEMORY_LIMIT_H
#define KYMO_BASE_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

/* Private mappings must not have been written to. */
struct mapping {
    void *address;
    size_t size;
    int fd; /* of the file, -1 when it was closed */
};

/* Does nothing until a limit is set. */
void memory_limit_set(size_t resident_bytes);
void memory_limit_watch(struct mapping mapping);
/* Must be called before the mapping is changed or removed. False when it was not registered. */
bool memory_limit_forget(const void *address, struct mapping *mapping);
bool memory_limit_find(const void *address, struct mapping *mapping);
/* Drops pages if the limit is exceeded, without waiting for the thread. Returns how many bytes a
 * thread may access before it should check again. */
size_t memory_limit_check(void);

#endif
