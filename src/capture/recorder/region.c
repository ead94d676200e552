/*
 * Mapped files that grow in pieces, each reserved on disk before it is touched.
 */
#include "capture/recorder/region.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older systems refuse it, and pages come singly */
#endif

enum { WRITE_SIZE = 256 << 10 };

/*
 * Zeros, written: that brings the space and the pages in one go, large ones where the system has
 * them. On ext4 a page costs 0.9 us until it is first used, with fallocate 1.7 us; that is 13 ns an
 * event.
 */
static bool reserve(int fd, size_t from, size_t to)
{
    static char zeros[WRITE_SIZE]; /* never written: no memory */
    while (from < to) {
        size_t size = to - from < sizeof zeros ? to - from : sizeof zeros;
        ssize_t written = pwrite(fd, zeros, size, (off_t)from);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        from += (size_t)written;
    }
    return true;
}

/* A file larger than the process may make would not fail but be a signal. */
static bool within_limit(size_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        size > limit.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    return true;
}

static bool map_new(struct region *region, int fd, void *place)
{
    if (ftruncate(fd, (off_t)region->size) != 0 || !reserve(fd, 0, region->ready))
        return false;
    void *base = mmap(place, region->size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | (place ? MAP_FIXED : 0), fd, 0);
    if (base == MAP_FAILED)
        return false;
    region->base = base;
    madvise(base, region->ready, MADV_POPULATE_WRITE);
    return true;
}

bool region_create(struct region *region, const char *path, size_t size, size_t ready, void *place)
{
    *region = (struct region){.size = size, .ready = ready < size ? ready : size};
    if (!within_limit(size))
        return false;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    struct stat status = {0};
    bool ok = fstat(fd, &status) == 0 && map_new(region, fd, place);
    region->device = status.st_dev;
    region->inode = status.st_ino;
    int problem = errno;
    close(fd);
    if (!ok)
        unlink(path);
    errno = problem;
    return ok;
}

/* The file that was made: where others may write, another can have taken its name. */
static int open_again(const struct region *region, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &status) == 0 && status.st_dev == region->device &&
                   status.st_ino == region->inode))
        return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

bool region_truncate(const struct region *region, const char *path, size_t size)
{
    int fd = open_again(region, path);
    bool ok = fd >= 0 && ftruncate(fd, (off_t)size) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool populate(const struct region *region, size_t from, size_t to)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    from &= ~(page - 1);
    return madvise(region->base + from, to - from, MADV_POPULATE_WRITE) == 0;
}

bool region_prepare(const struct region *region, const char *path, size_t from, size_t to)
{
    int fd = open_again(region, path);
    if (fd < 0)
        return false;
    bool ok = fallocate(fd, 0, (off_t)from, (off_t)(to - from)) == 0;
    close(fd);
    return ok && populate(region, from, to);
}

bool region_reserve(struct region *region, const char *path, size_t ready)
{
    if (ready <= region->ready)
        return true;
    if (ready > region->size) {
        errno = EFBIG;
        return false;
    }
    int fd = open_again(region, path);
    if (fd < 0)
        return false;
    bool ok = reserve(fd, region->ready, ready);
    int problem = errno;
    close(fd);
    errno = problem;
    if (!ok)
        return false;
    populate(region, region->ready, ready);
    region->ready = ready;
    return true;
}

void region_unmap(struct region *region)
{
    if (region->base)
        munmap(region->base, region->size);
    *region = (struct region){0};
}

/* The system call itself: ThreadSanitizer takes the library's mmap for a write to all of it, but
 * the pages are exchanged under a writer that does not notice. */
void region_detach(struct region *region)
{
    syscall(SYS_mmap, region->base, region->size, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}
