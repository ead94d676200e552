/*
 * Directories that are made with those above them.
 */
#include "base/directory.h"

#include "base/memory.h"

bool make_directories(const char *path, struct error *err)
{
    enum { TRIES = 100 }; /* others may remove one of them while it is empty */
    char *copy = mem_copy_text(path, strlen(path));
    int problem = directory_make_each(copy, NULL);
    for (int tries = 0; problem == ENOENT && tries < TRIES; tries++) {
        strcpy(copy, path);
        problem = directory_make_each(copy, NULL);
    }
    struct stat status; /* a file may be in the way */
    if (problem == 0 && stat(path, &status) == 0 && !S_ISDIR(status.st_mode))
        problem = EEXIST;
    bool ok =
        problem == 0 || error_in_file(err, copy, "cannot create directory: %s", strerror(problem));
    mem_free(copy);
    return ok;
}
