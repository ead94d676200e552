/*
 * Log: one write per line, so that lines of different threads do not mix.
 */
#include "base/log.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MAX_LINE = 2048 };

static enum log_level highest = LOG_INFO;
static int64_t started_ns;

__attribute__((constructor)) static void remember_start(void)
{
    started_ns = clock_monotonic_ns();
}

void log_set_level(enum log_level level)
{
    highest = level;
}

/* Any thread may call it: it keeps no state between calls and holds no lock, as the line leaves in
 * one write. Longer messages are truncated; a failed write has nowhere to be reported. */
void log_line(enum log_level level, const char *format, ...)
{
    static const char *const names[] = {"FATA", "ERRO", "WARN", "INFO", "DEBU"};
    static const char *const colors[] = {"\033[31m", "\033[31m", "\033[33m", "\033[36m",
                                         "\033[37m"};
    if (level > highest)
        return;
    bool colored = isatty(STDERR_FILENO) && !getenv("NO_COLOR");
    long seconds = (long)((clock_monotonic_ns() - started_ns) / 1000000000);
    char line[MAX_LINE];
    int size = snprintf(line, sizeof line, "%s%s%s[%04ld] ", colored ? colors[level] : "",
                        names[level], colored ? "\033[0m" : "", seconds);
    va_list arguments;
    va_start(arguments, format);
    int text = vsnprintf(line + size, sizeof line - (size_t)size - 1, format, arguments);
    va_end(arguments);
    size += text > 0 ? text : 0;
    if (size > MAX_LINE - 2)
        size = MAX_LINE - 2;
    line[size++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)size);
    (void)ignored;
}
