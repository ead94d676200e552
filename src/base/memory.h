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

void *mem_alloc(size_t size);
/* Zeroed; large blocks cost memory only where they are written. */
void *mem_zeroed(size_t count, size_t size);
void *mem_resize(void *block, size_t count, size_t size);
void mem_free(void *block);
/* A NUL-terminated copy of size bytes. */
char *mem_copy_text(const char *text, size_t size);

/* a + b that stops at the ends of the range: sums over a file's own figures must not overflow. */
static inline int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static inline int64_t sub_saturated(int64_t a, int64_t b)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return b < 0 ? INT64_MAX : INT64_MIN;
    return difference;
}

#endif
