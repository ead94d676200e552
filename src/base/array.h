/*
 * Growable arrays of any type: ARRAY(struct track) tracks; A zeroed array is empty. Capacity grows
 * by half, so pushing n items costs O(n). Pointers into an array are valid until the next push.
 */
#ifndef KYMO_BASE_ARRAY_H
#define KYMO_BASE_ARRAY_H

#include "base/memory.h"

#include <stddef.h>

#define ARRAY(type)                                                                                \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }

/* Reserves capacity for at least `wanted` items. */
#define array_reserve(array, wanted)                                                               \
    ((wanted) > (array)->capacity                                                                  \
         ? (void)((array)->items = array_grown((array)->items, &(array)->capacity, (wanted),       \
                                               sizeof *(array)->items))                            \
         : (void)0)

/* Returns the address of a new, uninitialized last item. */
#define array_push(array)                                                                          \
    (array_reserve(array, (array)->count + 1), &(array)->items[(array)->count++])

#define array_each(item, array)                                                                    \
    for (item = (array)->items; (array)->count && item < (array)->items + (array)->count; item++)

#define array_free(array)                                                                          \
    (mem_free((array)->items), (array)->items = NULL, (array)->count = (array)->capacity = 0)

static inline void *array_grown(void *items, size_t *capacity, size_t wanted, size_t item_size)
{
    size_t grown = *capacity + *capacity / 2 + 8;
    *capacity = grown > wanted ? grown : wanted;
    return mem_resize(items, *capacity, item_size);
}

#endif
