/*
 * What the runtime's handles stand for: the core and size of a model or tensor, and its name, as
 * they were when it was made. Kept whether a capture is running or not, as one may begin later.
 */
#ifndef KYMO_INTERPOSE_OBJECTS_H
#define KYMO_INTERPOSE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OBJECT_NAME = 256 };

struct object {
    uint32_t core; /* UINT32_MAX: none, or not known */
    uint64_t size;
    bool is_known;
    char name[OBJECT_NAME]; /* "" for none */
};

/* name NULL: none. Without memory the handle stays unknown. */
void objects_add(const void *handle, uint32_t core, uint64_t size, const char *name);
void objects_remove(const void *handle);
/* *object is as for a handle that is not known, where it is not. */
void objects_find(const void *handle, struct object *object);

/* Around a fork, so that a child does not find it in disorder. */
void objects_lock(void);
void objects_unlock(void);

#endif
