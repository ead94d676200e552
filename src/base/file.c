/*
 * Read-only files through mmap.
 */
#include "base/file.h"

#include "base/memory.h"
#include "base/memory_limit.h"
#include "base/out_of_memory.h"
#include "base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_map(struct file *file, int fd, const char *path, struct error *err)
{
    struct stat status;
    *file = (struct file){0};
    if (fstat(fd, &status) != 0)
        return error_in_file(err, path, "cannot stat: %s", strerror(errno));
    if (!S_ISREG(status.st_mode))
        return error_in_file(err, path, "not a regular file");
    if (status.st_size == 0)
        return true;
    size_t size = (size_t)status.st_size;
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return error_in_file(err, path, "cannot map: %s", strerror(errno));
    *file = (struct file){data, size};
    memory_limit_watch((struct mapping){data, size, -1});
    return true;
}

bool file_open(struct file *file, const char *path, struct error *err)
{
    *file = (struct file){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_in_file(err, path, "cannot open: %s", strerror(errno));
    bool ok = file_map(file, fd, path, err);
    close(fd);
    return ok;
}

int file_temporary(bool in_memory, struct error *err)
{
    const char *directory = mem_default_limits().directory;
    int fd = in_memory ? memfd_create("kymo", MFD_CLOEXEC) : scratch_open(directory);
    if (fd < 0)
        error_in_file(err, in_memory ? "memory" : directory, "cannot create a temporary file: %s",
                      strerror(errno));
    return fd;
}

void file_close(struct file *file)
{
    struct mapping mapping;
    if (file->size > 0) {
        memory_limit_forget(file->data, &mapping);
        munmap((void *)(uintptr_t)file->data, file->size);
    }
    *file = (struct file){0};
}

void file_release(const struct file *file, const uint8_t *data, size_t size)
{
    if (file->size == 0 || data < file->data || data > file->data + file->size ||
        size > (size_t)(file->data + file->size - data))
        return;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)data + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)data + size) & ~(page - 1);
    if (end > first)
        madvise((void *)first, end - first, MADV_DONTNEED);
}

bool file_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

char *path_format(const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0)
        mem_exhausted();
    char *path = mem_copy_text(text, (size_t)size);
    free(text);
    return path;
}
