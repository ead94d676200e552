/*
 * Locates installed files. The build sets the library directory relative to the program
 * (KYMO_LIBDIR); in the build tree it is ../lib.
 */
#include "base/installed.h"

#include "base/file.h"
#include "base/memory.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

char *installed_library(const char *name)
{
    static const char *const directories[] = {KYMO_LIBDIR "/kymo", KYMO_LIBDIR, "../lib"};
    char program[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    if (size <= 0)
        return NULL;
    program[size] = '\0';
    char *slash = strrchr(program, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        char *path = path_format("%s/%s/%s", program, directories[i], name);
        if (access(path, R_OK) == 0)
            return path;
        mem_free(path);
    }
    return NULL;
}
