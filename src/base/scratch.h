/*
 * Scratch blocks: memory backed by an unnamed mapped file, for data too large to keep in RAM.
 * Created only by memory.c; callers free and resize them like any block.
 */
#ifndef KYMO_BASE_SCRATCH_H
#define KYMO_BASE_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

void scratch_use(const char *directory);
/* Limits the size of all blocks together, unlimited at first; exceeding it ends the program. */
void scratch_limit(size_t bytes);
size_t scratch_used(void);
size_t scratch_left(void);
/* A new unnamed file; -1 with errno set. */
int scratch_open(const char *directory);
/* Zeroed; NULL when no file can be created or mapped. A full disk ends the program, and so does
 * exceeding the limit. */
void *scratch_alloc(size_t size);
/* Its size, in whole pages; 0 for blocks that are not scratch blocks. */
size_t scratch_size(const void *block);
/* NULL when the block cannot grow in place; it is then unchanged. */
void *scratch_resize(void *block, size_t size);
/* False for blocks that are not scratch blocks; so does the next one. */
bool scratch_free(void *block);
bool scratch_write(void *block, void *target, const void *data, size_t size);
/* Half of the free space in the directory. */
size_t scratch_available(void);

#endif
