/*
 * The runtime's handles: core, size and name of a model or tensor, as of its creation. Tracked
 * whether a capture is running or not, as one may start later.
 */
#ifndef KYMO_CAPTURE_NEURON_OBJECTS_H
#define KYMO_CAPTURE_NEURON_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OBJECT_NAME = 256 };

struct known_object {
    uint32_t core; /* UINT32_MAX: none or unknown */
    uint64_t size;
    bool is_known;
    char name[OBJECT_NAME]; /* "" for none */
};

/* name NULL: none. If memory runs out, the handle stays unknown. */
void objects_add(const void *handle, uint32_t core, uint64_t size, const char *name);
void objects_remove(const void *handle);
/* For an unknown handle, object is set to defaults. */
void objects_find(const void *handle, struct known_object *object);

/* Held across fork, so that the child finds it consistent. */
void objects_lock(void);
void objects_unlock(void);

#endif
