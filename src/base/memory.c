/*
 * Allocation that never returns NULL: decides whether a block is heap memory or a mapped temporary
 * file, and what happens when neither is available.
 */
#include "base/memory.h"

#include "base/memory_limit.h"
#include "base/out_of_memory.h"
#include "base/scratch.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DEFAULT_LARGE = 128 << 10, /* smaller blocks are not worth a file */
    BULK = 4 << 20, /* larger ones are data that stays: half of the limit is working memory's */
    DEFAULT_PLAIN = 160 << 20,
    DEFAULT_RESIDENT = 320 << 20,
};

#define GIB ((size_t)1 << 30)
enum { SCRATCH_PER_INPUT = 32 };

static struct mem_limits limits = {.plain_bytes = SIZE_MAX};
static size_t given_bytes;
static atomic_size_t plain_bytes; /* heap blocks of DEFAULT_LARGE and more */

struct mem_limits mem_default_limits(void)
{
    const char *directory = getenv("TMPDIR");
    return (struct mem_limits){.directory = directory && *directory ? directory : "/var/tmp",
                               .large_bytes = DEFAULT_LARGE,
                               .plain_bytes = DEFAULT_PLAIN,
                               .resident_bytes = DEFAULT_RESIDENT};
}

void mem_limit(const struct mem_limits *new_limits)
{
    limits = *new_limits;
    scratch_use(limits.directory);
    memory_limit_set(limits.resident_bytes);
    scratch_limit(limits.scratch_bytes ? limits.scratch_bytes : SIZE_MAX);
}

void mem_given(size_t bytes)
{
    if (__builtin_add_overflow(given_bytes, bytes, &given_bytes))
        given_bytes = SIZE_MAX;
    if (!limits.directory || limits.scratch_bytes)
        return;
    size_t usual = given_bytes < SIZE_MAX / SCRATCH_PER_INPUT - GIB
                       ? GIB + given_bytes * SCRATCH_PER_INPUT
                       : SIZE_MAX;
    size_t on_disk = scratch_used() + scratch_available();
    scratch_limit(usual < on_disk ? usual : on_disk);
}

size_t mem_available(void)
{
    size_t on_disk = limits.directory ? scratch_available() : 0;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (on_disk == 0)
        return (size_t)pages / 2 * (size_t)page;
    size_t left = scratch_left();
    return left < on_disk ? left : on_disk;
}

/* Whether a block of `size` bytes that replaces one of `before` bytes should be a file. */
static bool should_be_file(size_t size, size_t before)
{
    if (size < limits.large_bytes || size <= before)
        return false;
    size_t plain = atomic_load_explicit(&plain_bytes, memory_order_relaxed);
    size_t most = size >= BULK ? limits.plain_bytes / 2 : limits.plain_bytes;
    return plain >= most || size - before > most - plain;
}

static void *count(void *block)
{
    if (!block)
        mem_exhausted();
    size_t size = malloc_usable_size(block);
    if (size >= DEFAULT_LARGE)
        atomic_fetch_add_explicit(&plain_bytes, size, memory_order_relaxed);
    return block;
}

static void *discount(void *block)
{
    size_t size = malloc_usable_size(block);
    if (size >= DEFAULT_LARGE)
        atomic_fetch_sub_explicit(&plain_bytes, size, memory_order_relaxed);
    return block;
}

void *mem_alloc(size_t size)
{
    void *block = should_be_file(size, 0) ? scratch_alloc(size) : NULL;
    return block ? block : count(malloc(size ? size : 1));
}

static size_t product(size_t items, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(items, size, &bytes))
        mem_exhausted();
    return bytes;
}

void *mem_zeroed(size_t items, size_t size)
{
    size_t bytes = product(items, size);
    void *block = should_be_file(bytes, 0) ? scratch_alloc(bytes) : NULL;
    return block ? block : count(calloc(bytes ? bytes : 1, 1));
}

static void *moved(void *block, size_t before, size_t size)
{
    void *copy = mem_alloc(size);
    mem_write(copy, copy, block, before < size ? before : size);
    mem_free(block);
    return copy;
}

void *mem_resize(void *block, size_t items, size_t size)
{
    size_t bytes = product(items, size);
    if (!block)
        return mem_alloc(bytes);
    size_t before = scratch_size(block);
    if (before > 0) {
        void *resized = scratch_resize(block, bytes);
        return resized ? resized : moved(block, before, bytes);
    }
    before = malloc_usable_size(block);
    if (should_be_file(bytes, before))
        return moved(block, before, bytes);
    return count(realloc(discount(block), bytes ? bytes : 1));
}

void mem_free(void *block)
{
    if (!block || scratch_free(block))
        return;
    free(discount(block));
}

void mem_write(void *block, void *target, const void *data, size_t size)
{
    if (size > 0 && !scratch_write(block, target, data, size))
        memcpy(target, data, size);
}

_Thread_local size_t mem_unchecked_bytes;

void mem_check_limit(void)
{
    mem_unchecked_bytes = memory_limit_check();
}

char *mem_copy_text(const char *text, size_t size)
{
    char *copy = mem_alloc(size + 1);
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

char *mem_copy_string(const char *text)
{
    return text ? mem_copy_text(text, strlen(text)) : NULL;
}
