/*
 * Allocation that cannot fail half-way: the one place that decides what happens without memory.
 */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*last_words)(void);

void mem_set_last_words(void (*words)(void))
{
    last_words = words;
}

void mem_exhausted(void)
{
    static const char message[] = "kymo: out of memory; nothing was written\n";
    ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
    (void)ignored;
    if (last_words)
        last_words();
    _exit(1);
}

void *mem_alloc(size_t size)
{
    void *block = malloc(size ? size : 1);
    if (!block)
        mem_exhausted();
    return block;
}

void *mem_zeroed(size_t count, size_t size)
{
    void *block = calloc(count ? count : 1, size ? size : 1);
    if (!block)
        mem_exhausted();
    return block;
}

void *mem_resize(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        mem_exhausted();
    void *resized = realloc(block, bytes ? bytes : 1);
    if (!resized)
        mem_exhausted();
    return resized;
}

void mem_free(void *block)
{
    free(block);
}

char *mem_copy_text(const char *text, size_t size)
{
    char *copy = mem_alloc(size + 1);
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}
