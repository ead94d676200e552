/*
 * Running out of memory or of space for temporary files ends the program with a message.
 */
#ifndef KYMO_BASE_OUT_OF_MEMORY_H
#define KYMO_BASE_OUT_OF_MEMORY_H

#include <stddef.h>

/* Also for libraries that report allocation failures themselves. */
#define OUT_OF_MEMORY "out of memory" /* the message */
_Noreturn void mem_exhausted(void);
_Noreturn void mem_out_of_space(const char *directory);
_Noreturn void mem_over_scratch_limit(const char *directory, size_t limit_bytes);
/* Called before the program ends; it may not allocate. */
void mem_set_exit_hook(void (*hook)(void));

#endif
