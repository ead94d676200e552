/*
 * Allocation that succeeds or ends the program: no caller checks for NULL. Sizes that come from a
 * file are bounded by the file's own size before they reach these functions, so running out means
 * that the machine is out of memory, not that an input was bad.
 */
#ifndef KYMO_BASE_MEMORY_H
#define KYMO_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t size);
/* Zeroed; large blocks cost memory only where they are written. */
void *mem_zeroed(size_t count, size_t size);
void *mem_resize(void *block, size_t count, size_t size);
void mem_free(void *block);
/* A NUL-terminated copy of size bytes. */
char *mem_copy_text(const char *text, size_t size);

/*
 * How a program stays small whatever it reads. Once its large blocks take plain_bytes, further ones
 * are files without a name; the system reads their pages in when they are touched, and when the
 * program takes resident_bytes in all, those pages and the ones of mapped files leave memory again.
 * Set once, before the work begins; until then all blocks are plain memory.
 */
struct mem_limits {
    const char *directory; /* where the files lie; must outlive the program's blocks */
    size_t large_bytes;    /* what a block must have to become a file */
    size_t plain_bytes, resident_bytes;
};
void mem_limit(const struct mem_limits *limits);
/* 128 KiB, 128 MiB and 256 MiB; the directory is $TMPDIR or else /var/tmp, as /tmp may itself be
 * memory. */
struct mem_limits mem_usual_limits(void);

/* How much there is room for: half of the machine's memory or, when blocks may be files, half of
 * the free space on their disk. */
size_t mem_room(void);

/* A copy to a place in a block, best for many pages at once: where the block is a file, the pages
 * are written without being brought into this program, which takes a fifth of the time. */
void mem_write(void *block, void *place, const void *data, size_t size);

/*
 * Says that about so many bytes of large blocks are touched, so that only a few MiB can come into
 * memory before somebody looks: in loops over events, once every few thousand, with the size of
 * what is gone through; before a jump to a place that may not be in memory, with MEM_JUMP.
 */
enum { MEM_JUMP = 64 << 10 }; /* the system brings in what lies around a page as well */
extern _Thread_local size_t mem_unseen_bytes; /* what this thread may still touch */
void mem_tidy(void);

static inline void mem_touched(size_t bytes)
{
    if (mem_unseen_bytes < bytes)
        mem_tidy();
    else
        mem_unseen_bytes -= bytes;
}

#endif
