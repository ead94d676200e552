/*
 * Finding captures: from the path a user gives to the files of one profile, told by content.
 */
#include "import/import.h"
#include "import/xplane.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { DEEPEST_LOG_DIRECTORY = 12, SNIFF_SIZE = 4096 };

typedef ARRAY(char *) path_list;

static char *path_join(const char *directory, const char *name)
{
    size_t directory_size = strlen(directory);
    while (directory_size > 1 && directory[directory_size - 1] == '/')
        directory_size--;
    size_t size = directory_size + strlen(name) + 2;
    char *path = mem_alloc(size);
    snprintf(path, size, "%.*s/%s", (int)directory_size, directory, name);
    return path;
}

static const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool looks_like_xplane_name(const char *name)
{
    struct text text = text_of(name);
    return text_ends(text, TEXT(".xplane.pb")) || text_ends(text, TEXT(".xplane.pb.gz")) ||
           text_ends(text, TEXT(".xplane.pb.zst"));
}

static void add_capture_file(struct capture *capture, const char *path)
{
    const char *name = path_name(path);
    const char *suffix = strstr(name, ".xplane.pb");
    size_t size = suffix ? (size_t)(suffix - name) : strlen(name);
    *array_push(&capture->files) = (struct capture_file){.path = mem_copy_text(path, strlen(path)),
                                                         .label = mem_copy_text(name, size)};
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void paths_free(path_list *paths)
{
    char **path;
    array_each (path, paths)
        mem_free(*path);
    array_free(paths);
}

/* Entries of a directory as full paths, sorted by name; false when it cannot be read. */
static bool list_directory(const char *directory, path_list *paths, struct error *err)
{
    DIR *stream = opendir(directory);
    if (!stream)
        return error_in_file(err, directory, "cannot be read: %s", strerror(errno));
    struct dirent *entry;
    while ((entry = readdir(stream)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            *array_push(paths) = path_join(directory, entry->d_name);
    closedir(stream);
    if (paths->count > 0)
        qsort(paths->items, paths->count, sizeof *paths->items, by_path);
    return true;
}

static bool has_captures(const char *directory)
{
    path_list paths = {0};
    struct error ignored;
    bool found = false;
    if (list_directory(directory, &paths, &ignored))
        for (size_t i = 0; i < paths.count && !found; i++)
            found = looks_like_xplane_name(paths.items[i]);
    paths_free(&paths);
    return found;
}

struct pending {
    char *path;
    unsigned depth;
};

/* All directories below root that hold captures. Symbolic links to directories are not followed, so
 * that a loop of them does not matter. */
static bool find_runs(const char *root, path_list *runs, struct error *err)
{
    ARRAY(struct pending) pending = {0};
    *array_push(&pending) = (struct pending){mem_copy_text(root, strlen(root)), 0};
    bool ok = true;
    while (pending.count > 0) {
        struct pending next = pending.items[--pending.count];
        path_list paths = {0};
        struct error unreadable;
        bool readable = list_directory(next.path, &paths, &unreadable);
        if (!readable && next.depth == 0) {
            *err = unreadable;
            ok = false;
        }
        for (size_t i = 0; i < paths.count && next.depth < DEEPEST_LOG_DIRECTORY; i++) {
            struct stat status;
            if (lstat(paths.items[i], &status) != 0 || !S_ISDIR(status.st_mode))
                continue;
            if (has_captures(paths.items[i]))
                *array_push(runs) = mem_copy_text(paths.items[i], strlen(paths.items[i]));
            else
                *array_push(&pending) = (struct pending){
                    mem_copy_text(paths.items[i], strlen(paths.items[i])), next.depth + 1};
        }
        paths_free(&paths);
        mem_free(next.path);
    }
    array_free(&pending);
    return ok;
}

static bool take_run(struct capture *capture, const char *directory, struct error *err)
{
    path_list paths = {0};
    bool ok = list_directory(directory, &paths, err);
    for (size_t i = 0; i < paths.count; i++)
        if (looks_like_xplane_name(paths.items[i]))
            add_capture_file(capture, paths.items[i]);
    paths_free(&paths);
    const char *end = directory + strlen(directory);
    while (end > directory + 1 && end[-1] == '/')
        end--;
    const char *start = end;
    while (start > directory && start[-1] != '/')
        start--;
    capture->run = mem_copy_text(start, (size_t)(end - start));
    return ok;
}

static int newest_run_first(const void *a, const void *b)
{
    /* Runs are named by the time of their capture; the name decides, whatever the directory. */
    return strcmp(path_name(*(char *const *)b), path_name(*(char *const *)a));
}

static bool find_in_directory(struct capture *capture, const char *path, struct error *err)
{
    if (has_captures(path))
        return take_run(capture, path, err);
    path_list runs = {0};
    bool ok = find_runs(path, &runs, err);
    if (ok && runs.count == 0)
        ok = error_in_file(err, path,
                           "no profiles were found in it; a session directory holds *.xplane.pb "
                           "files");
    if (ok) {
        assert(runs.items);
        qsort(runs.items, runs.count, sizeof *runs.items, newest_run_first);
        ok = take_run(capture, runs.items[0], err);
        for (size_t i = 1; i < runs.count; i++)
            *array_push(&capture->other_runs) = mem_copy_text(runs.items[i], strlen(runs.items[i]));
    }
    paths_free(&runs);
    return ok;
}

bool capture_find(struct capture *capture, const char *path, struct error *err)
{
    *capture = (struct capture){0};
    if (file_is_directory(path))
        return find_in_directory(capture, path, err);
    add_capture_file(capture, path);
    return true;
}

void capture_free(struct capture *capture)
{
    struct capture_file *file;
    array_each (file, &capture->files) {
        mem_free(file->path);
        mem_free(file->label);
    }
    array_free(&capture->files);
    char **run;
    array_each (run, &capture->other_runs)
        mem_free(*run);
    array_free(&capture->other_runs);
    mem_free(capture->run);
    *capture = (struct capture){0};
}

/* Looks at the first bytes, unpacked if need be. */
static bool check_format(const char *path, struct error *err)
{
    struct file file;
    if (!file_open(&file, path, err))
        return false;
    bool ok = looks_like_xplane_name(path);
    if (!ok && file.size > 0) {
        uint8_t head[SNIFF_SIZE];
        size_t size;
        struct stream *stream = stream_open(path, file.data, file.size);
        struct error ignored;
        stream_read(stream, head, sizeof head, &size, &ignored);
        ok = xplane_recognise(head, size);
        stream_close(stream);
    }
    file_close(&file);
    if (!ok)
        error_in_file(err, path,
                      "is not a capture Kymo reads; it reads XPlane files (*.xplane.pb, also .gz "
                      "and .zst) and the directories they lie in");
    return ok;
}

bool import_capture(const struct capture *capture, struct pool *pool, struct source **source,
                    struct error *err)
{
    const struct capture_file *file;
    array_each (file, &capture->files)
        if (!check_format(file->path, err))
            return false;
    return import_xplane(capture, pool, source, err);
}
