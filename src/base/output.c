/*
 * Buffered output to a file descriptor or to a growing memory buffer.
 */
#include "base/output.h"

#include "base/memory.h"
#include "base/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_SIZE = 256 << 10, MEMORY_START = 4 << 10 };

void output_memory(struct output *out)
{
    *out = (struct output){.fd = -1};
    out->capacity = MEMORY_START;
    out->data = mem_alloc(out->capacity);
}

/* Like mkostemp, with permissions that the kernel limits by the umask: a process can read that only
 * by changing it, for all of its threads. */
static int create_unique(char *path, mode_t mode)
{
    enum { TRIES = 100, DIGITS = 36 };
    int fd = -1;
    errno = EEXIST;
    for (int tries = 0; fd < 0 && errno == EEXIST && tries < TRIES; tries++) {
        uint64_t number;
        if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
            number = (uint64_t)getpid() * TRIES + (uint64_t)tries;
        for (char *at = path + strlen(path) - strlen("XXXXXX"); *at; at++, number /= DIGITS)
            *at = "0123456789abcdefghijklmnopqrstuvwxyz"[number % DIGITS];
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }
    return fd;
}

/* Unfinished files, for a signal handler to remove: one for each host that is captured from, at
 * most. An output that does not fit in the list still works. */
enum { MAX_UNFINISHED = 1024 };
static char *_Atomic unfinished[MAX_UNFINISHED];
static struct readers removing;

static void add_unfinished(char *temporary)
{
    for (size_t i = 0; i < MAX_UNFINISHED; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&unfinished[i], &none, temporary))
            return;
    }
}

/* The caller may free it then. */
static void forget_unfinished(char *temporary)
{
    bool found = false;
    for (size_t i = 0; i < MAX_UNFINISHED && !found; i++) {
        char *expected = temporary;
        found = atomic_compare_exchange_strong(&unfinished[i], &expected, NULL);
    }
    readers_wait(&removing);
}

void output_remove_unfinished(void)
{
    readers_enter(&removing);
    for (size_t i = 0; i < MAX_UNFINISHED; i++) {
        char *temporary = atomic_load(&unfinished[i]);
        if (temporary)
            unlink(temporary);
    }
    readers_leave(&removing);
}

/* Creates a temporary file next to the one it will replace, with the permissions of that, if there
 * is one; symbolic links are followed. */
static void open_temporary(struct output *out, const char *path, const struct stat *replaced)
{
    char *real = realpath(path, NULL);
    const char *target = real ? real : path;
    size_t size = strlen(target) + sizeof ".XXXXXX";
    out->path = mem_copy_text(target, strlen(target));
    out->temporary = mem_alloc(size);
    snprintf(out->temporary, size, "%s.XXXXXX", target);
    free(real);
    sigset_t all, before; /* a signal between creating and listing the file would leave it behind */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    out->fd = create_unique(out->temporary, replaced ? 0600 : 0666);
    if (out->fd >= 0)
        add_unfinished(out->temporary);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (out->fd >= 0 && replaced)
        fchmod(out->fd, replaced->st_mode & 07777);
}

static bool open_file(struct output *out, const char *path, struct error *err)
{
    struct stat status;
    bool exists = stat(path, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return error_in_file(err, path, "is a directory; an output file is needed");
    if (exists && !S_ISREG(status.st_mode)) { /* a device or a pipe cannot be renamed to */
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
        out->path = mem_copy_text(path, strlen(path));
    } else {
        open_temporary(out, path, exists ? &status : NULL);
    }
    if (out->fd >= 0)
        return true;
    error_in_file(err, path, "cannot write: %s", strerror(errno));
    mem_free(out->temporary);
    mem_free(out->path);
    return false;
}

bool output_open(struct output *out, const char *path, struct error *err)
{
    *out = (struct output){.fd = STDOUT_FILENO};
    if (path && strcmp(path, "-") != 0 && !open_file(out, path, err)) {
        *out = (struct output){.fd = -1};
        return false;
    }
    out->capacity = BUFFER_SIZE;
    out->data = mem_alloc(out->capacity);
    return true;
}

static void fail(struct output *out)
{
    if (!out->failed)
        error_in_file(&out->error, out->path ? out->path : "standard output", "cannot write: %s",
                      strerror(errno));
    out->failed = true;
}

static void flush(struct output *out)
{
    for (size_t done = 0; done < out->size && !out->failed;) {
        ssize_t written = write(out->fd, out->data + done, out->size - done);
        if (written > 0)
            done += (size_t)written;
        else if (errno != EINTR)
            fail(out);
    }
    out->size = 0;
}

void output_reserve(struct output *out, size_t size)
{
    if (out->fd >= 0)
        flush(out);
    if (size <= out->capacity - out->size)
        return;
    size_t wanted = out->size + size;
    size_t doubled = out->capacity * 2;
    out->capacity = doubled > wanted ? doubled : wanted;
    out->data = mem_resize(out->data, out->capacity, 1);
}

void output_format(struct output *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size > 0) {
        if ((size_t)size + 1 > out->capacity - out->size)
            output_reserve(out, (size_t)size + 1);
        vsnprintf(out->data + out->size, (size_t)size + 1, format, again);
        out->size += (size_t)size;
    }
    va_end(again);
}

bool output_commit(struct output *out, struct error *err)
{
    flush(out);
    if (!out->failed && out->temporary &&
        (fsync(out->fd) != 0 || rename(out->temporary, out->path) != 0))
        fail(out);
    bool ok = !out->failed;
    if (!ok) {
        *err = out->error;
    } else if (out->temporary) {
        forget_unfinished(out->temporary);
        mem_free(out->temporary);
        out->temporary = NULL;
    }
    output_discard(out);
    return ok;
}

void output_discard(struct output *out)
{
    if (out->fd > STDOUT_FILENO)
        close(out->fd);
    if (out->temporary) {
        unlink(out->temporary);
        forget_unfinished(out->temporary);
    }
    mem_free(out->temporary);
    mem_free(out->path);
    mem_free(out->data);
    *out = (struct output){.fd = -1};
}
