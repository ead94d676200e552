/*
 * Scratch blocks. Their disk space is reserved before they are used, so that a full disk is
 * reported here and does not raise SIGBUS at the first write to a page.
 */
#include "base/scratch.h"

#include "base/memory_limit.h"
#include "base/out_of_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A block whose file stays open can grow without being copied. The system may allow as few as a
 * thousand open files in all. */
enum { MAX_OPEN = 128, MIN_PAGE = 4096 };

static const char *directory;
static atomic_int open_files;
static atomic_size_t used_bytes, limit_bytes = SIZE_MAX;

void scratch_use(const char *path)
{
    directory = path;
}

void scratch_limit(size_t bytes)
{
    atomic_store(&limit_bytes, bytes);
}

size_t scratch_used(void)
{
    return atomic_load(&used_bytes);
}

size_t scratch_left(void)
{
    size_t limit = atomic_load(&limit_bytes), used = scratch_used();
    return used < limit ? limit - used : 0;
}

static void count(size_t bytes)
{
    size_t limit = atomic_load(&limit_bytes);
    if (atomic_fetch_add(&used_bytes, bytes) + bytes > limit)
        mem_over_scratch_limit(directory, limit);
}

static void discount(size_t bytes)
{
    atomic_fetch_sub(&used_bytes, bytes);
}

static size_t whole_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return size > SIZE_MAX - page ? size : (size + page - 1) / page * page;
}

int scratch_open(const char *where)
{
    int fd = open(where, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    char path[PATH_MAX]; /* not every file system supports O_TMPFILE */
    if (snprintf(path, sizeof path, "%s/kymo-XXXXXX", where) >= (int)sizeof path)
        return -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static bool reserve(int fd, size_t from, size_t to)
{
    int problem;
    do
        problem = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
    while (problem == EINTR);
    if (problem == ENOSPC || problem == EDQUOT || problem == EFBIG)
        mem_out_of_space(directory);
    return problem == 0;
}

/* The descriptor to keep, -1 when too many are open. */
static int keep_open(int fd)
{
    if (atomic_fetch_add(&open_files, 1) < MAX_OPEN)
        return fd;
    atomic_fetch_sub(&open_files, 1);
    close(fd);
    return -1;
}

void *scratch_alloc(size_t size)
{
    size = whole_pages(size);
    int fd = scratch_open(directory);
    if (fd < 0)
        return NULL;
    void *block = MAP_FAILED;
    count(size);
    if (reserve(fd, 0, size))
        block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (block == MAP_FAILED) {
        discount(size);
        close(fd);
        return NULL;
    }
    memory_limit_watch((struct mapping){block, size, keep_open(fd)});
    return block;
}

/* Avoids the lookup for all other blocks. */
static bool may_be_scratch(const void *block)
{
    return (uintptr_t)block % MIN_PAGE == 0;
}

size_t scratch_size(const void *block)
{
    struct mapping mapping;
    return may_be_scratch(block) && memory_limit_find(block, &mapping) ? mapping.size : 0;
}

/* Grows the file before the mapping and shrinks it after, so that every mapped page is backed. */
static void *remapped(const struct mapping *mapping, size_t size)
{
    bool grows = size > mapping->size;
    if (grows)
        count(size - mapping->size);
    void *block = !grows || reserve(mapping->fd, mapping->size, size)
                      ? mremap(mapping->address, mapping->size, size, MREMAP_MAYMOVE)
                      : MAP_FAILED;
    if (grows && block == MAP_FAILED)
        discount(size - mapping->size);
    if (!grows && block != MAP_FAILED) {
        discount(mapping->size - size);
        int ignored = ftruncate(mapping->fd,
                                (off_t)size); /* on failure the disk space is only released later */
        (void)ignored;
    }
    return block;
}

void *scratch_resize(void *block, size_t size)
{
    struct mapping mapping;
    if (!memory_limit_forget(block, &mapping))
        return NULL;
    size = whole_pages(size ? size : 1);
    void *resized = mapping.fd >= 0 ? remapped(&mapping, size) : MAP_FAILED;
    bool done = resized != MAP_FAILED;
    if (done)
        mapping = (struct mapping){resized, size, mapping.fd};
    memory_limit_watch(mapping);
    return done ? resized : NULL;
}

bool scratch_free(void *block)
{
    struct mapping mapping;
    if (!may_be_scratch(block) || !memory_limit_forget(block, &mapping))
        return false;
    munmap(mapping.address, mapping.size);
    discount(mapping.size);
    if (mapping.fd >= 0) {
        close(mapping.fd);
        atomic_fetch_sub(&open_files, 1);
    }
    return true;
}

bool scratch_write(void *block, void *target, const void *data, size_t size)
{
    struct mapping mapping;
    if (!may_be_scratch(block) || !memory_limit_find(block, &mapping) || mapping.fd < 0)
        return false;
    off_t at = (char *)target - (char *)block;
    for (size_t done = 0; done < size;) {
        ssize_t written =
            pwrite(mapping.fd, (const char *)data + done, size - done, at + (off_t)done);
        if (written <= 0 && errno != EINTR)
            return false;
        done += written > 0 ? (size_t)written : 0;
    }
    return true;
}

size_t scratch_available(void)
{
    struct statvfs disk;
    if (statvfs(directory, &disk) != 0)
        return 0;
    return (size_t)disk.f_bavail / 2 * (size_t)disk.f_frsize;
}
