/*
 * A line is one write, so that lines of several processes do not mix.
 */
#include "capture/cuda/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void say(const char *format, ...)
{
    char line[1024] = "kymo: ";
    size_t used = strlen(line);
    va_list values;
    va_start(values, format);
    vsnprintf(line + used, sizeof line - used - 1, format, values);
    va_end(values);
    used = strlen(line);
    line[used++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, used);
    (void)ignored;
}
