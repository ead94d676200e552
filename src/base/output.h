/*
 * Buffered output to a file, to standard output or to memory. Files are written under a temporary
 * name and renamed by output_commit, so a reader sees the old file or the whole new one. Errors are
 * sticky: after the first, writes are ignored and output_commit reports it.
 */
#ifndef KYMO_BASE_OUTPUT_H
#define KYMO_BASE_OUTPUT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct output {
    char *data; /* not yet written; for memory outputs, everything */
    size_t size, capacity;
    int fd; /* -1 for memory */
    char *path, *temporary;
    bool failed;
    struct error error;
};

void output_memory(struct output *out);
/* path NULL or "-" is standard output. */
bool output_open(struct output *out, const char *path, struct error *err);
void output_reserve(struct output *out, size_t size);
void output_format(struct output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Flushes, syncs and renames. On failure the temporary file is removed. Frees the output. */
bool output_commit(struct output *out, struct error *err);
/* Removes the unfinished files of all outputs; async-signal-safe. */
void output_remove_unfinished(void);
/* Discards what was written: for errors, and for memory outputs that are done. */
void output_discard(struct output *out);

static inline void output_write(struct output *out, const char *data, size_t size)
{
    if (size > out->capacity - out->size)
        output_reserve(out, size);
    if (size > 0)
        memcpy(out->data + out->size, data, size);
    out->size += size;
}

static inline void output_char(struct output *out, char c)
{
    if (out->size == out->capacity)
        output_reserve(out, 1);
    out->data[out->size++] = c;
}

static inline void output_text(struct output *out, const char *terminated)
{
    output_write(out, terminated, strlen(terminated));
}

#endif
