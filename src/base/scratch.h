/*
 * Scratch blocks: memory that is a mapped file without a name, for what is too large to be kept in
 * memory. Made by memory.c alone; everybody else frees and resizes them like all blocks.
 */
#ifndef KYMO_BASE_SCRATCH_H
#define KYMO_BASE_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

void scratch_use(const char *directory);
/* A new file without a name; -1 with errno set. */
int scratch_open(const char *directory);
/* Zeroed; NULL when no file can be made or mapped. A full disk ends the program. */
void *scratch_alloc(size_t size);
/* Its size, in whole pages; 0 for blocks that are none of these. */
size_t scratch_size(const void *block);
/* NULL when the block cannot grow where it is, and is as it was. */
void *scratch_resize(void *block, size_t size);
/* False for blocks that are none of these, as below. */
bool scratch_free(void *block);
bool scratch_write(void *block, void *place, const void *data, size_t size);
/* Half of the free space in the directory. */
size_t scratch_room(void);

#endif
