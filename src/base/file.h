/*
 * Files for reading: mapped, never copied. The map is valid until file_close; its pages can be
 * given back early, so that a file larger than memory can be read from end to end.
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
/* A file that is open; the map needs no descriptor. The path is for messages. */
bool file_map(struct file *file, int fd, const char *path, struct error *err);
void file_close(struct file *file);

/* A new file without a name, to be written and mapped: where temporary data goes, or in memory. -1
 * when there is none to be had. */
int file_nameless(bool in_memory, struct error *err);

/* The pages wholly inside the range leave memory; reading them again brings them back. A range that
 * is not part of the file's map is left alone. */
void file_release(const struct file *file, const uint8_t *data, size_t size);

bool file_is_directory(const char *path);

/* A path from pieces; free it with mem_free. */
char *path_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
