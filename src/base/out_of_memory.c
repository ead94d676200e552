/*
 * Running out of memory or of space for temporary files.
 */
#include "base/out_of_memory.h"

#include "base/quantity.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void (*exit_hook)(void);

void mem_set_exit_hook(void (*hook)(void))
{
    exit_hook = hook;
}

static _Noreturn void exit_with(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
    if (exit_hook)
        exit_hook();
    _exit(1);
}

void mem_exhausted(void)
{
    exit_with("kymo: " OUT_OF_MEMORY "; nothing was written\n");
}

void mem_out_of_space(const char *directory)
{
    char text[PATH_MAX + 128];
    snprintf(text, sizeof text,
             "kymo: out of disk space for temporary data in %s; nothing was written. Set TMPDIR to "
             "a directory with more space\n",
             directory);
    exit_with(text);
}

void mem_over_scratch_limit(const char *directory, size_t limit_bytes)
{
    char text[PATH_MAX + 256], size[QUANTITY_SIZE];
    snprintf(text, sizeof text,
             "kymo: this takes more than %s of temporary data in %s, the limit for input of its "
             "size; nothing was written. --scratch-limit GIB allows more, TMPDIR sets the "
             "directory\n",
             format_bytes(limit_bytes, size), directory);
    exit_with(text);
}
