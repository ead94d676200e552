/*
 * Read-only files: mapped, never copied. The mapping is valid until file_close; its pages can be
 * released early, so that a file larger than memory can be read from start to end.
 */
#ifndef KYMO_BASE_FILE_H
#define KYMO_BASE_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file {
    const uint8_t *data; /* NULL when the file is empty */
    size_t size;
};

bool file_open(struct file *file, const char *path, struct error *err);
/* Maps an open file; fd may be closed afterward. The path is for error messages. */
bool file_map(struct file *file, int fd, const char *path, struct error *err);
void file_close(struct file *file);

/* Creates an unnamed file to be written and mapped, in the directory for temporary files or in
 * memory. Returns its descriptor, or -1 on error. */
int file_temporary(bool in_memory, struct error *err);

/* Drops the pages that are wholly inside the range from memory; reading them again brings them
 * back. A range outside the file's mapping is ignored. */
void file_release(const struct file *file, const uint8_t *data, size_t size);

bool file_is_directory(const char *path);

/* Formats a path; free it with mem_free. */
char *path_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
