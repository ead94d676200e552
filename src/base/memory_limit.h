/*
 * The limit on the program's resident memory. It knows the mappings whose content is in a file;
 * when the program grows beyond the limit, their pages are dropped. Nothing is lost: changed pages
 * stay with the system, and all are read back when they are touched.
 */
#ifndef KYMO_BASE_MEMORY_LIMIT_H
#define KYMO_BASE_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

/* Private mappings must not have been written to. */
struct mapping {
    void *address;
    size_t size;
    int fd; /* of the file, for those who want it; -1 when it was closed */
};

/* Nothing is watched until there is a limit. */
void memory_limit_set(size_t resident_bytes);
void memory_limit_watch(struct mapping mapping);
/* Must come before the mapping is changed or removed. False when it was not watched. */
bool memory_limit_forget(const void *address, struct mapping *mapping);
bool memory_limit_find(const void *address, struct mapping *mapping);
/* Drops pages if the limit is exceeded, without waiting for the thread. Returns how much a thread
 * may bring into memory before it should check again. */
size_t memory_limit_check(void);

#endif
