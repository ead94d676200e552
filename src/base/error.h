/*
 * Errors: `bool f(..., struct error *err)` returns true for success; on false, err
 * holds a sentence a user can act on and, where there is one, the file and byte offset it is about.
 */
#ifndef KYMO_BASE_ERROR_H
#define KYMO_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ERROR_TEXT_SIZE = 512, ERROR_FILE_SIZE = 1024, ERROR_LINE_SIZE = 1664 };
#define ERROR_NO_OFFSET UINT64_MAX

struct error {
    char text[ERROR_TEXT_SIZE];
    char file[ERROR_FILE_SIZE]; /* "" when no file is involved */
    uint64_t offset;            /* ERROR_NO_OFFSET when no offset applies */
};

/* All three return false, so that a function can end with `return error_set(err, ...)`. */
bool error_set(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool error_in_file(struct error *err, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool error_at(struct error *err, const char *file, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Formats "file: text (at byte offset)" into line, always NUL-terminated; returns line. */
const char *error_line(const struct error *err, char line[static ERROR_LINE_SIZE]);

#endif
