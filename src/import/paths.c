/*
 * File paths and directory listings.
 */
#include "import/paths.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

char *path_join(const char *directory, const char *name)
{
    size_t directory_size = strlen(directory);
    while (directory_size > 1 && directory[directory_size - 1] == '/')
        directory_size--;
    size_t size = directory_size + strlen(name) + 2;
    char *path = mem_alloc(size);
    snprintf(path, size, "%.*s/%s", (int)directory_size, directory, name);
    return path;
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool rank_in_name(const char *name, int64_t *rank)
{
    enum { MAX_RANK = 100000000 };
    for (; *name; name++) {
        if (strncasecmp(name, "rank", 4) != 0)
            continue;
        const char *at = name + 4;
        at += *at && strchr("_-. ", *at) ? 1 : 0;
        if (*at < '0' || *at > '9')
            continue;
        for (*rank = 0; *at >= '0' && *at <= '9' && *rank < MAX_RANK; at++)
            *rank = *rank * 10 + (*at - '0');
        return true;
    }
    return false;
}

void paths_free(path_list *paths)
{
    char **path;
    array_each (path, paths)
        mem_free(*path);
    array_free(paths);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool paths_list(const char *directory, path_list *paths, struct error *err)
{
    DIR *stream = opendir(directory);
    if (!stream)
        return error_in_file(err, directory, "cannot read directory: %s", strerror(errno));
    struct dirent *entry;
    while ((entry = readdir(stream)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            *array_push(paths) = path_join(directory, entry->d_name);
    closedir(stream);
    if (paths->count > 0)
        qsort(paths->items, paths->count, sizeof *paths->items, by_path);
    return true;
}
