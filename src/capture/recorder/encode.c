/*
 * Output files of the recorder.
 */
#include "capture/recorder/encode.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_SIZE = 256 << 10, MOST_TRIES = 100, RANDOM_DIGITS = 16 };

static bool fail(const struct encode_file *file, struct error *err)
{
    return error_in_file(err, file->path, "cannot be written: %s", strerror(file->problem));
}

/* Unpredictable, so that the names cannot all be taken in advance; O_EXCL does the rest. */
static uint64_t random_number(void)
{
    uint64_t number;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number)
        return number;
    struct timespec now = clock_after_ns(0);
    return (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 16;
}

static int open_part(struct encode_file *file)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        snprintf(file->temporary, sizeof file->temporary, ".%s.%016llx.part", file->name,
                 (unsigned long long)random_number());
        int fd = openat(file->directory, file->temporary,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static bool prepare(struct encode_file *file, const char *path)
{
    *file = (struct encode_file){.fd = -1, .directory = -1, .limit = UINT64_MAX};
    struct rlimit limit; /* beyond it, a write is a signal */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        file->limit = limit.rlim_cur;
    snprintf(file->path, sizeof file->path, "%s", path);
    file->buffer = malloc(BUFFER_SIZE);
    if (!file->buffer)
        file->problem = errno;
    return file->buffer != NULL;
}

bool encode_open(struct encode_file *file, const struct encode_directory *directory,
                 const char *name, struct error *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", directory->path, name) >= PATH_MAX)
        snprintf(path, sizeof path, "%s", name);
    if (!prepare(file, path))
        return fail(file, err);
    snprintf(file->name, sizeof file->name, "%s", name);
    file->directory = directory->fd;
    file->sync = directory->sync;
    file->fd = open_part(file);
    if (file->fd >= 0)
        return true;
    file->problem = errno;
    fail(file, err);
    file->temporary[0] = '\0';
    encode_discard(file);
    return false;
}

bool encode_open_fd(struct encode_file *file, int fd, const char *path, struct error *err)
{
    if (!prepare(file, path))
        return fail(file, err);
    file->fd = fd;
    return true;
}

bool encode_is_part(const char *name)
{
    static const char suffix[] = ".part";
    size_t size = strlen(name), least = sizeof suffix - 1 + 1 + RANDOM_DIGITS;
    if (name[0] != '.' || size <= least + 1 || strcmp(name + size - (sizeof suffix - 1), suffix))
        return false;
    const char *digits = name + size - (sizeof suffix - 1) - RANDOM_DIGITS;
    return digits[-1] == '.' && strspn(digits, "0123456789abcdef") == RANDOM_DIGITS;
}

static void write_out(struct encode_file *file, const uint8_t *data, size_t size)
{
    if (size > file->limit - file->written && !file->problem)
        file->problem = EFBIG;
    while (size > 0 && !file->problem) {
        ssize_t written = write(file->fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            file->problem = written < 0 ? errno : EIO;
            break;
        }
        data += written;
        size -= (size_t)written;
        file->written += (uint64_t)written;
    }
}

static void flush(struct encode_file *file)
{
    write_out(file, file->buffer, file->size);
    file->size = 0;
}

uint8_t *encode_room(struct encode_file *file, size_t size)
{
    if (size > BUFFER_SIZE - file->size)
        flush(file);
    return file->problem || size > BUFFER_SIZE ? NULL : file->buffer + file->size;
}

void encode_write(struct encode_file *file, const void *data, size_t size)
{
    if (size > BUFFER_SIZE - file->size)
        flush(file);
    if (size > BUFFER_SIZE) {
        write_out(file, data, size);
        return;
    }
    memcpy(file->buffer + file->size, data, size);
    file->size += size;
}

bool encode_commit(struct encode_file *file, struct error *err)
{
    flush(file);
    if (!file->problem && file->sync && fsync(file->fd) != 0)
        file->problem = errno;
    if (file->directory >= 0) {
        int closed = close(file->fd);
        file->fd = -1;
        if (!file->problem && (closed != 0 || renameat(file->directory, file->temporary,
                                                       file->directory, file->name) != 0))
            file->problem = errno;
    }
    bool ok = file->problem == 0 || fail(file, err);
    if (ok)
        file->temporary[0] = '\0';
    encode_discard(file);
    return ok;
}

void encode_discard(struct encode_file *file)
{
    if (file->fd >= 0 && file->directory >= 0)
        close(file->fd);
    if (file->temporary[0])
        unlinkat(file->directory, file->temporary, 0);
    free(file->buffer);
    *file = (struct encode_file){.fd = -1, .directory = -1};
}
