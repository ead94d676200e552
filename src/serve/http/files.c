/*
 * File system helpers of the server, for markers, uploads and the job queue.
 */
#include "serve/http/server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

char *file_content(const char *path, size_t max, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || (size_t)status.st_size > max) {
        close(fd);
        return NULL;
    }
    char *content = mem_alloc((size_t)status.st_size + 1);
    size_t got = 0;
    for (ssize_t part = 1; part > 0 && got < (size_t)status.st_size; got += (size_t)part)
        if ((part = read(fd, content + got, (size_t)status.st_size - got)) < 0)
            part = 0;
    close(fd);
    content[got] = '\0';
    *size = got;
    return content;
}

bool file_replace(const char *path, struct text content, struct error *err)
{
    struct output out;
    if (!output_open(&out, path, err))
        return false;
    output_write(&out, content.data, content.size);
    return output_commit(&out, err);
}

uint64_t folder_size(const char *path, unsigned depth)
{
    uint64_t size = 0;
    DIR *stream = opendir(path);
    struct dirent *entry;
    struct stat status;
    while (stream && (entry = readdir(stream))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *below = path_format("%s/%s", path, entry->d_name);
        bool is_there = lstat(below, &status) == 0;
        if (is_there && S_ISREG(status.st_mode))
            size += (uint64_t)status.st_size;
        else if (is_there && S_ISDIR(status.st_mode) && depth > 0)
            size += folder_size(below, depth - 1); /* bounded by depth */
        mem_free(below);
    }
    if (stream)
        closedir(stream);
    return size;
}

/* Removes the files of a folder and lists the folders in it. */
typedef ARRAY(char *) path_list;

static void remove_files(const char *path, path_list *folders)
{
    DIR *stream = opendir(path);
    struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *below = path_format("%s/%s", path, entry->d_name);
        if (unlink(below) != 0 && (errno == EISDIR || errno == EPERM))
            *array_push(folders) = below;
        else
            mem_free(below);
    }
    if (stream)
        closedir(stream);
}

/* Iterative, deepest folders first. */
void folder_remove(const char *path)
{
    path_list pending = {0};
    *array_push(&pending) = mem_copy_text(path, strlen(path));
    while (pending.count > 0) {
        size_t before = pending.count;
        char *last = pending.items[before - 1];
        if (rmdir(last) == 0 || errno == ENOENT || errno == ENOTDIR) {
            mem_free(last);
            pending.count--;
            continue;
        }
        remove_files(last, &pending);
        if (pending.count == before && rmdir(last) != 0 && errno != ENOENT)
            break; /* no progress: avoid an endless loop */
    }
    while (pending.count > 0)
        mem_free(pending.items[--pending.count]);
    array_free(&pending);
}
