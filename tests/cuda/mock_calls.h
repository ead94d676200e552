/*
 * Calls of a stand-in's functions: a log of them, and the results that a test wants them to have.
 */
#ifndef KYMO_TESTS_MOCK_CALLS_H
#define KYMO_TESTS_MOCK_CALLS_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Appends a line to the file that the variable names. */
static inline void mock_log(const char *variable, const char *text)
{
    char line[256];
    const char *path = getenv(variable);
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        return;
    int size = snprintf(line, sizeof line, "%s\n", text);
    if (write(fd, line, (size_t)size) != size)
        abort();
    close(fd);
}

/* The result that the variable has for this call, or for all calls of the function. */
static inline uint32_t mock_result(const char *variable, const char *text)
{
    char call[128], entry[130];
    const char *errors = getenv(variable);
    snprintf(call, sizeof call, "%s", text);
    for (int i = 0; errors && i < 2; i++) {
        snprintf(entry, sizeof entry, "%s=", call);
        const char *found = strstr(errors, entry);
        if (found)
            return (uint32_t)atoi(found + strlen(entry));
        call[strcspn(call, "(")] = '\0';
    }
    return 0;
}

/* Writes a call to the log; returns the result it shall have. */
__attribute__((format(printf, 3, 4))) static inline uint32_t
mock_called(const char *log, const char *errors, const char *format, ...)
{
    char call[128];
    va_list values;
    va_start(values, format);
    vsnprintf(call, sizeof call, format, values);
    va_end(values);
    mock_log(log, call);
    return mock_result(errors, call);
}

#endif
