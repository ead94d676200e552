/*
 * Directories that are made with those above them.
 */
#ifndef KYMO_BASE_DIRECTORY_H
#define KYMO_BASE_DIRECTORY_H

#include "base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes each directory of the path that is not there, with the permissions that umask leaves.
 * Returns 0, or an error number with the path cut after the directory that cannot be made. `made`,
 * if not NULL, gets the length of the path of the first one that was not there, or the path's own
 * length and 1. Inline: libkymo has it with libc alone. */
static inline int directory_make_each(char *path, size_t *made)
{
    if (made)
        *made = strlen(path) + 1;
    for (char *at = path + 1; at;) {
        at = strchr(at, '/');
        if (at)
            *at = '\0';
        bool is_new = mkdir(path, 0777) == 0;
        int problem = is_new ? 0 : errno;
        if (is_new && made && strlen(path) < *made)
            *made = strlen(path);
        if (!is_new && problem != EEXIST && access(path, F_OK) != 0) /* above may be read-only */
            return problem;
        if (at)
            *at++ = '/';
    }
    return 0;
}

/* The same, with a sentence; others may remove empty directories meanwhile. */
bool make_directories(const char *path, struct error *err);

#endif
