/*
 * Memory that is there or ends the program: no caller checks for NULL. Sizes that come from a file
 * are bounded by the file's own size before they reach these functions, so running out means that
 * the machine is out of memory, not that an input was bad.
 */
#ifndef KYMO_BASE_MEMORY_H
#define KYMO_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Says so and ends the program; for libraries that report a lack of memory themselves. */
_Noreturn void mem_exhausted(void);
/* What to do before that; it may not need memory. */
void mem_set_last_words(void (*words)(void));

void *mem_alloc(size_t size);
/* Zeroed; large blocks cost memory only where they are written. */
void *mem_zeroed(size_t count, size_t size);
void *mem_resize(void *block, size_t count, size_t size);
void mem_free(void *block);
/* A NUL-terminated copy of size bytes. */
char *mem_copy_text(const char *text, size_t size);

#endif
