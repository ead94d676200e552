/*
 * Finds source files below a directory.
 */
#include "base/source_file.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_below(const char *path, const char *root)
{
    size_t size = strlen(root);
    return strncmp(path, root, size) == 0 && (path[size] == '/' || root[size - 1] == '/');
}

char *source_file_find(const char *root, const char *name)
{
    char *real_root = realpath(root, NULL), *found = NULL;
    for (const char *at = name; real_root && at && !found;) {
        at += strspn(at, "/");
        char *path = path_format("%s/%s", real_root, at), *real = realpath(path, NULL);
        if (*at && real && is_below(real, real_root) && !file_is_directory(real))
            found = mem_copy_text(real, strlen(real));
        free(real);
        mem_free(path);
        at = strchr(at, '/');
    }
    free(real_root);
    return found;
}
