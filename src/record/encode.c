/*
 * The file that protobuf is written to.
 */
#include "record/encode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BUFFER_SIZE = 256 << 10 };

static bool fail(const struct encode_file *file, struct error *err)
{
    return error_in_file(err, file->path, "cannot be written: %s", strerror(file->problem));
}

bool encode_open(struct encode_file *file, const char *directory, const char *name,
                 struct error *err)
{
    *file = (struct encode_file){.fd = -1, .limit = UINT64_MAX};
    struct rlimit limit; /* beyond it, a write is a signal */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        file->limit = limit.rlim_cur;
    int size = snprintf(file->path, sizeof file->path, "%s/%s", directory, name);
    int more = snprintf(file->temporary, sizeof file->temporary, "%s/.%s.part", directory, name);
    if (size < 0 || more < 0 || (size_t)more >= sizeof file->temporary) {
        file->problem = ENAMETOOLONG;
        return fail(file, err);
    }
    file->buffer = malloc(BUFFER_SIZE);
    if (file->buffer)
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file->fd >= 0)
        return true;
    file->problem = errno;
    free(file->buffer);
    file->buffer = NULL;
    return fail(file, err);
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
    int closed = close(file->fd);
    file->fd = -1;
    if (!file->problem && (closed != 0 || rename(file->temporary, file->path) != 0))
        file->problem = errno;
    bool ok = file->problem == 0 || fail(file, err);
    if (ok)
        file->temporary[0] = '\0';
    encode_discard(file);
    return ok;
}

void encode_discard(struct encode_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->temporary[0])
        unlink(file->temporary);
    free(file->buffer);
    *file = (struct encode_file){.fd = -1};
}
