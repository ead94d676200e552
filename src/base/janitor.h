/*
 * The janitor keeps the program's resident memory small. It knows the mappings whose content is in
 * a file; when the program grows beyond its limit, it lets their pages go. Nothing is lost: changed
 * pages stay with the system, and all come back when they are touched.
 */
#ifndef KYMO_BASE_JANITOR_H
#define KYMO_BASE_JANITOR_H

#include <stdbool.h>
#include <stddef.h>

/* Private mappings must not have been written to. */
struct mapping {
    void *address;
    size_t size;
    int fd; /* of the file, for those who want it; -1 when it was closed */
};

/* Nothing is watched until there is a limit. */
void janitor_limit(size_t resident_bytes);
void janitor_watch(struct mapping mapping);
/* Must come before the mapping is changed or removed. False when it was not watched. */
bool janitor_forget(const void *address, struct mapping *mapping);
bool janitor_find(const void *address, struct mapping *mapping);
/* Lets pages go if it is time, without waiting for the janitor. Returns how much a thread may bring
 * into memory before it should look again. */
size_t janitor_look(void);

#endif
