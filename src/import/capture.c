/*
 * Finds captures: from a user's path to the files of one profile, recognized by content.
 */
#include "import/content.h"
#include "import/formats.h"
#include "import/import.h"
#include "import/json_file.h"
#include "import/ntff/device_source.h"
#include "import/paths.h"
#include "import/recording/recording.h"
#include "sql/sql.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MAX_LOG_DEPTH = 12 };

static bool looks_like_json_name(const char *name)
{
    struct text text = text_of(name);
    return text_ends(text, TEXT(".json")) || text_ends(text, TEXT(".json.gz")) ||
           text_ends(text, TEXT(".json.zst"));
}

/* The length of a file name without its trace suffix. */
static size_t label_size(const char *name)
{
    static const char *const suffixes[] = {".xplane.pb", ".pt.trace.json", ".trace.json", ".json",
                                           ".ntff"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *suffix = strstr(name, suffixes[i]);
        if (suffix && suffix > name)
            return (size_t)(suffix - name);
    }
    return strlen(name);
}

/* Any file may be named *.json; its content decides. */
static enum json_format json_format_at(const char *path)
{
    struct file file;
    struct error ignored;
    if (!looks_like_json_name(path) || !file_open(&file, path, &ignored))
        return JSON_FORMAT_NONE;
    enum json_format format = format_of_json(path, &file);
    file_close(&file);
    return format;
}

static bool is_json_of(const char *path, enum json_format wanted)
{
    return json_format_at(path) == wanted;
}

static bool is_device_profile(const char *path)
{
    return is_json_of(path, JSON_FORMAT_DEVICE_PROFILE);
}

static bool is_explorer_json(const char *path)
{
    enum json_format format = json_format_at(path);
    return format == JSON_FORMAT_EXPLORER || format == JSON_FORMAT_DEVICE_PROFILE;
}

static bool is_system_trace(const char *path)
{
    return is_json_of(path, JSON_FORMAT_SYSTEM_TRACE);
}

static void add_capture_file(struct capture *capture, const char *path)
{
    const char *name = path_name(path);
    size_t size = label_size(name);
    bool is_raw = is_ntff(path);
    *array_push(&capture->files) =
        (struct capture_file){.path = mem_copy_text(path, strlen(path)),
                              .label = mem_copy_text(name, size),
                              .is_device = is_raw || is_device_profile(path),
                              .is_ntff = is_raw};
}

/* Whether a file in a directory is part of a capture. */
typedef bool belongs(const char *path);

static bool has_captures(const char *directory, belongs *is_capture)
{
    path_list paths = {0};
    struct error ignored;
    bool found = false;
    if (paths_list(directory, &paths, &ignored))
        for (size_t i = 0; i < paths.count && !found; i++)
            found = is_capture(paths.items[i]);
    paths_free(&paths);
    return found;
}

/* JAX also writes the content of an XPlane file as a Chrome trace: beside it, under the same name
 * or as perfetto_trace.json.gz. */
static bool is_copy_of_xplane(const char *path)
{
    const char *name = path_name(path);
    size_t label = label_size(name);
    char *directory = path_format("%.*s.", (int)(name - path), path);
    bool is_made_by_jax = text_starts(text_of(name), TEXT("perfetto_trace.json"));
    path_list beside = {0};
    struct error ignored;
    bool is_copy = false;
    if (paths_list(directory, &beside, &ignored))
        for (size_t i = 0; i < beside.count && !is_copy; i++) {
            const char *other = path_name(beside.items[i]);
            is_copy = is_xplane_name(other) &&
                      (is_made_by_jax ||
                       (label_size(other) == label && strncmp(other, name, label) == 0));
        }
    paths_free(&beside);
    mem_free(directory);
    return is_copy;
}

static bool is_chrome_trace(const char *path)
{
    return is_json_of(path, JSON_FORMAT_CHROME) && !is_copy_of_xplane(path);
}

static bool is_dataset(const char *directory)
{
    char *path = path_join(directory, DATASET_FILE);
    struct stat status;
    bool is_there = stat(path, &status) == 0;
    mem_free(path);
    return is_there;
}

struct pending {
    char *path;
    unsigned depth;
};

/* Finds all directories below root that contain captures. Symbolic links to directories are not
 * followed, to avoid loops; datasets are skipped, as their files were made from captures. */
static bool find_runs(const char *root, belongs *is_capture, path_list *runs, struct error *err)
{
    ARRAY(struct pending) pending = {0};
    *array_push(&pending) = (struct pending){mem_copy_text(root, strlen(root)), 0};
    bool ok = true;
    while (pending.count > 0) {
        struct pending next = pending.items[--pending.count];
        path_list paths = {0};
        struct error unreadable;
        bool readable = is_dataset(next.path) || paths_list(next.path, &paths, &unreadable);
        if (!readable && next.depth == 0) {
            *err = unreadable;
            ok = false;
        }
        for (size_t i = 0; i < paths.count && next.depth < MAX_LOG_DEPTH; i++) {
            struct stat status;
            if (lstat(paths.items[i], &status) != 0 || !S_ISDIR(status.st_mode))
                continue;
            if (has_captures(paths.items[i], is_capture))
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

static bool take_run(struct capture *capture, const char *directory, belongs *is_capture,
                     struct error *err)
{
    path_list paths = {0};
    bool ok = paths_list(directory, &paths, err);
    for (size_t i = 0; i < paths.count; i++)
        if (is_capture(paths.items[i]))
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
    /* Runs are named after their capture time; sort by name, ignoring the directory. */
    return strcmp(path_name(*(char *const *)b), path_name(*(char *const *)a));
}

/* Adds the captures of the directory or of the newest run below it. */
static bool find_captures(struct capture *capture, const char *path, belongs *is_capture,
                          struct error *err)
{
    if (has_captures(path, is_capture))
        return take_run(capture, path, is_capture, err);
    path_list runs = {0};
    bool ok = find_runs(path, is_capture, &runs, err);
    if (ok && runs.count > 0) {
        assert(runs.items);
        qsort(runs.items, runs.count, sizeof *runs.items, newest_run_first);
        ok = take_run(capture, runs.items[0], is_capture, err);
        for (size_t i = 1; i < runs.count; i++)
            *array_push(&capture->other_runs) = mem_copy_text(runs.items[i], strlen(runs.items[i]));
    }
    paths_free(&runs);
    return ok;
}

/* Tables are recognized by their names, as in the schema; a table may have several parts. */
static bool is_events_table(const char *path)
{
    struct text name = text_of(path_name(path));
    return text_starts(name, TEXT("SystemProfileEvents")) && text_ends(name, TEXT(".parquet"));
}

static bool find_tables(struct capture *capture, const char *path, struct error *err)
{
    if (!has_captures(path, is_events_table))
        return true;
    capture->tables = mem_copy_text(path, strlen(path));
    return take_run(capture, path, is_events_table, err);
}

/* Device profiles of a directory: beside the files of a session or of a framework, or alone. */
static bool add_device_files(struct capture *capture, const char *path, struct error *err)
{
    path_list found = {0};
    bool ok = find_ntffs(path, &found, err);
    char **file;
    array_each (file, &found)
        add_capture_file(capture, *file);
    paths_free(&found);
    return ok;
}

/* Adds the files of a further format, of the directory or also of the newest run below it. */
static bool add_format(struct capture *capture, const char *path, belongs *is_capture,
                       bool is_below, struct error *err)
{
    struct capture found = {0};
    bool ok = true;
    if (is_below || has_captures(path, is_capture))
        ok = find_captures(&found, path, is_capture, err);
    struct capture_file *file;
    array_each (file, &found.files) {
        *array_push(&capture->files) = *file;
        *file = (struct capture_file){0};
    }
    char **run;
    array_each (run, &found.other_runs) {
        *array_push(&capture->other_runs) = *run;
        *run = NULL;
    }
    if (!capture->run && found.files.count > 0) {
        capture->run = found.run;
        found.run = NULL;
    }
    capture_free(&found);
    return ok;
}

/* Explorer's JSON is a complete profile, usually made from the files beside it. */
static void warn_of_explorer(struct capture *capture, const char *path)
{
    path_list paths = {0};
    struct error ignored;
    char **entry;
    if (paths_list(path, &paths, &ignored))
        array_each (entry, &paths)
            if (is_explorer_json(*entry))
                *array_push(&capture->warnings) = path_format(
                    "%s is a profile of its own and was skipped; open it by itself", *entry);
    paths_free(&paths);
}

/* Files written by the framework and the runtime of a recorded program. */
static bool add_to_recording(struct capture *capture, const char *path, struct error *err)
{
    warn_of_explorer(capture, path);
    return add_format(capture, path, is_xplane_name, true, err) &&
           add_format(capture, path, is_system_trace, true, err) &&
           add_format(capture, path, is_chrome_trace, true, err) &&
           add_device_files(capture, path, err);
}

/* Takes the most detailed format, and files in the directory that can be merged with it. */
static bool find_in_directory(struct capture *capture, const char *path, struct error *err)
{
    static belongs *const kinds[] = {is_xplane_name, is_explorer_json, is_system_trace,
                                     is_chrome_trace};
    if (!find_tables(capture, path, err))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !capture->tables; i++) {
        bool is_first = capture->files.count == 0;
        if (kinds[i] == is_explorer_json && !is_first)
            warn_of_explorer(capture, path);
        else if (!add_format(capture, path, kinds[i], is_first, err))
            return false;
        if (kinds[i] == is_explorer_json && is_first && capture->files.count > 0)
            return true;
    }
    if (!capture->tables && !add_device_files(capture, path, err))
        return false;
    return capture->files.count > 0 || content_refuse_directory(path, err);
}

/* Rings of a killed program are labeled with their session directory. */
static void add_rings(struct capture *capture, const char *path)
{
    const char *end = strrchr(path, '/'), *start = end;
    while (start > path && start[-1] != '/')
        start--;
    *array_push(&capture->files) =
        (struct capture_file){.path = mem_copy_text(path, strlen(path)),
                              .label = mem_copy_text(start, (size_t)(end - start)),
                              .is_rings = true};
}

/* A session's file represents the whole session. */
static bool find_session(struct capture *capture, const char *path, struct error *err)
{
    path_list files = {0}, rings = {0};
    bool ok = recording_find(path, &files, &rings, &capture->warnings, err);
    char **file;
    array_each (file, &files)
        add_capture_file(capture, *file);
    array_each (file, &rings)
        add_rings(capture, *file);
    paths_free(&files);
    paths_free(&rings);
    return ok;
}

bool capture_find(struct capture *capture, const char *path, struct error *err)
{
    *capture = (struct capture){0};
    if (!find_session(capture, path, err))
        return false;
    bool is_directory = file_is_directory(path);
    if (capture->files.count > 0)
        return !is_directory || add_to_recording(capture, path, err);
    if (is_directory && has_captures(path, is_ntff))
        return add_device_files(capture, path, err);
    if (is_directory)
        return find_in_directory(capture, path, err);
    add_capture_file(capture, path);
    return true;
}

bool capture_is_mixed(const struct capture *capture)
{
    size_t raw = 0;
    const struct capture_file *file;
    array_each (file, &capture->files)
        raw += file->is_ntff;
    return raw > 0 && raw < capture->files.count;
}

static void file_free(struct capture_file *file)
{
    mem_free(file->neff);
    mem_free(file->path);
    mem_free(file->label);
}

void capture_keep(struct capture *capture, enum capture_part part, size_t device)
{
    size_t kept = 0, devices = 0;
    struct capture_file *file;
    array_each (file, &capture->files) {
        bool stays = part == CAPTURE_ALL       ? true
                     : part == CAPTURE_SYSTEM  ? !file->is_device
                     : part == CAPTURE_DEVICES ? file->is_device
                                               : file->is_device && devices == device;
        devices += file->is_device;
        if (stays)
            capture->files.items[kept++] = *file;
        else
            file_free(file);
    }
    capture->files.count = kept;
}

void capture_free(struct capture *capture)
{
    struct capture_file *file;
    array_each (file, &capture->files)
        file_free(file);
    array_free(&capture->files);
    char **run;
    array_each (run, &capture->other_runs)
        mem_free(*run);
    array_free(&capture->other_runs);
    paths_free(&capture->warnings);
    mem_free(capture->run);
    mem_free(capture->tables);
    *capture = (struct capture){0};
}

/* Why a file that was named together with a NEFF is not read. */
static bool refuse_with_neff(const char *path, const char *neff, struct error *err)
{
    struct file file;
    if (!file_open(&file, path, err))
        return false;
    if (format_of(path, &file) == FORMAT_UNKNOWN)
        format_refuse(path, &file, err);
    else
        error_in_file(err, path, "this is not an NTFF file, which a NEFF ('%s') needs", neff);
    file_close(&file);
    return false;
}

bool capture_set_neff(struct capture *capture, const char *path, struct error *err)
{
    size_t raw = 0;
    struct capture_file *file;
    array_each (file, &capture->files) {
        if (!file->is_ntff)
            continue;
        mem_free(file->neff);
        file->neff = mem_copy_text(path, strlen(path));
        raw++;
    }
    return raw > 0 || refuse_with_neff(capture->files.items[0].path, path, err);
}
