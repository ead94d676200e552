/*
 * Allocation that succeeds or ends the program: no caller checks for NULL. Sizes read from a file
 * are bounded by the file's size before they reach these functions, so running out means that the
 * machine is out of memory, not that an input was bad.
 */
#ifndef KYMO_BASE_MEMORY_H
#define KYMO_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t size);
/* Zeroed; large blocks use physical memory only where they are written. */
void *mem_zeroed(size_t count, size_t size);
void *mem_resize(void *block, size_t count, size_t size);
void mem_free(void *block);
/* A NUL-terminated copy of `size` bytes. */
char *mem_copy_text(const char *text, size_t size);
/* The same of a whole string; NULL of NULL. */
char *mem_copy_string(const char *text);

/*
 * Memory limits. Once large heap blocks exceed plain_bytes, further ones are unnamed mapped files;
 * when the program's resident memory exceeds resident_bytes, pages of those and of mapped input
 * files are dropped. Set once, before the work begins; until then all blocks are heap memory.
 */
struct mem_limits {
    const char *directory; /* for temporary files; must outlive all blocks */
    size_t large_bytes;    /* minimum size of a block that becomes a file */
    size_t plain_bytes, resident_bytes;
    size_t scratch_bytes; /* of all temporary files together; 0: see mem_given */
};
void mem_limit(const struct mem_limits *limits);
/*
 * Announces input that will be processed, by its size after decompression, if need be estimated.
 * Unless scratch_bytes was chosen, temporary files may take 1 GiB and 32 times all input so far,
 * and at most half of the free disk space: a program that needs more has been given something made
 * to exhaust it. Small events need most: four million of 12 bytes took 8 times their size while a
 * profile was made. Exceeding the limit ends the program with a message.
 */
void mem_given(size_t bytes);
/* 128 KiB, 160 MiB and 320 MiB; the directory is $TMPDIR or else /var/tmp, as /tmp may itself be in
 * memory. */
struct mem_limits mem_default_limits(void);

/* Available memory: half of the machine's or, when blocks may be files, half of the free disk
 * space, within the limit on them. */
size_t mem_available(void);

/* Copies into a block, best for many pages at once: where the block is a file, the pages are
 * written without being mapped in, which takes a fifth of the time. */
void mem_write(void *block, void *target, const void *data, size_t size);

/*
 * Announces that about this many bytes of large blocks are accessed, so that only a few MiB can
 * become resident before the limit is checked: in loops over events, once every few thousand, with
 * the size processed; before a random access that may fault, with MEM_JUMP.
 */
enum { MEM_JUMP = 64 << 10 };                    /* a fault reads neighboring pages as well */
extern _Thread_local size_t mem_unchecked_bytes; /* this thread's rest until the next check */
void mem_check_limit(void);

static inline void mem_touched(size_t bytes)
{
    if (mem_unchecked_bytes < bytes)
        mem_check_limit();
    else
        mem_unchecked_bytes -= bytes;
}

#endif
