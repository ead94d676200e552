/*
 * Arena allocator: a list of blocks that double in size up to a limit; allocation bumps a counter.
 */
#include "base/arena.h"

#include "base/memory.h"

#include <stdalign.h>
#include <string.h>

enum { FIRST_BLOCK = 16 << 10, MAX_BLOCK = 4 << 20, ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *older;
    size_t size, used;
    alignas(ALIGNMENT) char data[];
};

static struct arena_block *block_add(struct arena *arena, size_t min_size)
{
    size_t size = arena->newest ? arena->newest->size * 2 : FIRST_BLOCK;
    if (size > MAX_BLOCK)
        size = MAX_BLOCK;
    if (size < min_size)
        size = min_size;
    struct arena_block *block = mem_alloc(sizeof *block + size);
    block->older = arena->newest;
    block->size = size;
    block->used = 0;
    arena->newest = block;
    arena->allocated_bytes += size;
    return block;
}

/* Text needs no alignment, and padding millions of short names would double their size. */
static void *bump(struct arena *arena, size_t size, size_t alignment)
{
    struct arena_block *block = arena->newest;
    size_t at = block ? (block->used + alignment - 1) & ~(alignment - 1) : 0;
    if (!block || at > block->size || size > block->size - at) {
        block = block_add(arena, size);
        at = 0;
    }
    block->used = at + size;
    return block->data + at;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    return bump(arena, size, ALIGNMENT);
}

char *arena_copy_text(struct arena *arena, const char *text, size_t size)
{
    char *copy = bump(arena, size + 1, 1);
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

void arena_free(struct arena *arena)
{
    struct arena_block *block = arena->newest;
    while (block) {
        struct arena_block *older = block->older;
        mem_free(block);
        block = older;
    }
    *arena = (struct arena){0};
}
