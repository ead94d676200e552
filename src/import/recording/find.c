/*
 * Recordings: finding them. A capture of several processes, on several machines, is a directory of
 * session directories, each called after the machine and the process.
 */
#include "import/recording/passes.h"

#include "record/record.h"

#include <sys/stat.h>

enum { DEEPEST = 6, HEAD_SIZE = 64 };

static bool is_session_file(const char *path)
{
    struct file file;
    struct error ignored;
    struct stat status;
    if (!text_ends(text_of(path), TEXT(".pb")) || stat(path, &status) != 0 ||
        !S_ISREG(status.st_mode) || !file_open(&file, path, &ignored))
        return false;
    bool is_session = session_recognise(file.data, file.size) != SESSION_NONE;
    file_close(&file);
    return is_session;
}

/* A program that is still running is left alone. */
static void recover(const char *directory, path_list *warnings)
{
    struct error err;
    char line[ERROR_LINE_SIZE];
    if (!record_is_left_over(directory) || record_recover(directory, &err))
        return;
    const char *text = error_line(&err, line);
    *array_push(warnings) = mem_copy_text(text, strlen(text));
}

static bool take_directory(const char *directory, path_list *files, path_list *warnings,
                           path_list *below, struct error *err)
{
    path_list entries = {0};
    recover(directory, warnings);
    bool ok = paths_list(directory, &entries, err);
    char **entry;
    array_each (entry, &entries) {
        struct stat status;
        bool is_directory = lstat(*entry, &status) == 0 && S_ISDIR(status.st_mode) &&
                            strcmp(path_name(*entry), RECORD_RINGS) != 0;
        if (is_directory || is_session_file(*entry)) {
            *array_push(is_directory ? below : files) = *entry;
            *entry = NULL;
        }
    }
    paths_free(&entries);
    return ok;
}

/* Level by level, so that links and depth do no harm. */
static bool take_all(const char *root, path_list *files, path_list *warnings, struct error *err)
{
    path_list level = {0};
    *array_push(&level) = mem_copy_text(root, strlen(root));
    bool ok = true;
    for (unsigned depth = 0; depth <= DEEPEST && level.count > 0; depth++) {
        path_list below = {0};
        char **directory;
        array_each (directory, &level) {
            struct error unreadable;
            if (!take_directory(*directory, files, warnings, &below, &unreadable) && depth == 0) {
                *err = unreadable;
                ok = false;
            }
        }
        paths_free(&level);
        level = below;
    }
    paths_free(&level);
    return ok;
}

bool recording_find(const char *path, path_list *files, path_list *warnings, struct error *err)
{
    if (file_is_directory(path))
        return take_all(path, files, warnings, err);
    if (!is_session_file(path))
        return true;
    const char *slash = strrchr(path, '/');
    char *directory = slash ? mem_copy_text(path, (size_t)(slash - path) + (slash == path))
                            : mem_copy_text(".", 1);
    path_list below = {0};
    bool ok = take_directory(directory, files, warnings, &below, err);
    paths_free(&below);
    mem_free(directory);
    return ok;
}

static void count_session(const char *path, int64_t since_ns, struct recording_counts *counts)
{
    struct file file;
    struct error ignored;
    struct session_info info;
    struct pb_reader failed;
    if (!file_open(&file, path, &ignored))
        return;
    if (session_recognise(file.data, file.size) == SESSION_INFO &&
        session_info_read(file.data, file.size, &info, &failed) && info.end_ns >= since_ns) {
        counts->processes++;
        counts->recorded += info.recorded;
        counts->kept += info.kept;
        counts->lost += info.lost;
    }
    file_close(&file);
}

bool recording_survey(const char *path, int64_t since_ns, struct recording_counts *counts,
                      path_list *warnings, struct error *err)
{
    path_list files = {0};
    *counts = (struct recording_counts){0};
    bool ok = recording_find(path, &files, warnings, err);
    char **file;
    array_each (file, &files)
        count_session(*file, since_ns, counts);
    paths_free(&files);
    return ok;
}
