/*
 * Arena allocator: many small allocations, all freed at once with arena_free. A zeroed struct is an
 * empty arena.
 */
#ifndef KYMO_BASE_ARENA_H
#define KYMO_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *newest;
    size_t allocated_bytes; /* over all blocks */
};

/* Aligned to 16 bytes, not zeroed. */
void *arena_alloc(struct arena *arena, size_t size);
/* A NUL-terminated copy. */
char *arena_copy_text(struct arena *arena, const char *text, size_t size);
void arena_free(struct arena *arena);

#endif
