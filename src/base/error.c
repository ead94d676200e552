/*
 * Errors: filled where they occur, printed once by the command line or the server.
 */
#include "base/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static void fill(struct error *err, const char *file, uint64_t offset, const char *format,
                 va_list arguments)
{
    vsnprintf(err->text, sizeof err->text, format, arguments);
    snprintf(err->file, sizeof err->file, "%s", file);
    err->offset = offset;
}

bool error_set(struct error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(err, "", ERROR_NO_OFFSET, format, arguments);
    va_end(arguments);
    return false;
}

bool error_in_file(struct error *err, const char *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(err, file, ERROR_NO_OFFSET, format, arguments);
    va_end(arguments);
    return false;
}

bool error_at(struct error *err, const char *file, uint64_t offset, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(err, file, offset, format, arguments);
    va_end(arguments);
    return false;
}

const char *error_line(const struct error *err, char line[static ERROR_LINE_SIZE])
{
    const char *separator = err->file[0] ? ": " : "";
    if (err->offset == ERROR_NO_OFFSET)
        snprintf(line, ERROR_LINE_SIZE, "%s%s%s", err->file, separator, err->text);
    else
        snprintf(line, ERROR_LINE_SIZE, "%s%s%s (at byte %" PRIu64 ")", err->file, separator,
                 err->text, err->offset);
    return line;
}
