/*
 * Recordings: finds them. A capture of several processes, on several machines, is a directory of
 * session directories, each named after the machine and the process.
 */
#include "import/recording/gpu_file.h"
#include "import/recording/recording_passes.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 6, HEAD_SIZE = 64 };

static bool is_session_file(const char *path)
{
    struct file file;
    struct error ignored;
    struct stat status;
    if (!text_ends(text_of(path), TEXT(".pb")) || stat(path, &status) != 0 ||
        !S_ISREG(status.st_mode) || !file_open(&file, path, &ignored))
        return false;
    bool is_session = session_recognize(file.data, file.size) != SESSION_NONE;
    file_close(&file);
    return is_session;
}

struct search {
    path_list *files, *rings, *warnings;
    /* Set instead of the above: recovers recordings left since a given time. */
    recovered_list *recovered;
    int64_t since_ns;
    size_t device_profiles; /* counted: NTFF files written since then */
};

static bool has_file(const char *directory, const char *name)
{
    struct stat status;
    char *path = path_join(directory, name);
    bool exists = lstat(path, &status) == 0;
    mem_free(path);
    return exists;
}

/* trace_info.pb is written last: if it exists, rings are obsolete and were only not removed. */
static bool is_complete(const char *directory)
{
    char *path = path_join(directory, "trace_info.pb");
    bool exists = is_session_file(path);
    mem_free(path);
    return exists;
}

static bool take_rings(struct search *search, const char *directory)
{
    struct record_summary summary;
    struct error err;
    char line[ERROR_LINE_SIZE];
    if (!record_is_left_over(directory) || is_complete(directory))
        return false;
    if (record_examine(directory, &summary, &err)) {
        *array_push(search->rings) = path_join(directory, RECORD_RINGS);
        return true;
    }
    const char *text = error_line(&err, line);
    *array_push(search->warnings) = mem_copy_text(text, strlen(text));
    return false;
}

/* If there are rings, they have the events, whatever else a killed program has written. */
static bool is_in_rings(const char *directory, const char *path)
{
    const char *name = path_name(path);
    bool is_sampler = strcmp(name, "cpu_util.pb") == 0 || strcmp(name, "host_mem.pb") == 0 ||
                      strcmp(name, "gpu_trace.pb") == 0;
    if (!is_sampler)
        return true;
    char *rings = path_join(directory, RECORD_RINGS);
    bool exists = has_file(rings, name);
    mem_free(rings);
    return exists;
}

static void recover(struct search *search, const char *directory)
{
    struct recovered result = {0};
    struct record_summary before;
    if (!record_is_left_over(directory) ||
        (record_examine(directory, &before, &result.error) && before.start_ns < search->since_ns))
        return;
    result.is_done = record_recover(directory, &result.summary, &result.error);
    if (result.is_done && rmdir(directory) == 0)
        return; /* it was empty: only device profiles were asked for, and there are none */
    result.directory = mem_copy_text(directory, strlen(directory));
    *array_push(search->recovered) = result;
}

static bool is_new_device_profile(const char *path, const struct stat *status, int64_t since_ns)
{
    enum { NS_PER_S = 1000000000 };
    int64_t written_ns = (int64_t)status->st_mtim.tv_sec * NS_PER_S + status->st_mtim.tv_nsec;
    return text_ends(text_of(path), TEXT(".ntff")) && written_ns >= since_ns;
}

/* Links to directories are not followed, and rings/ is not searched: it stands for its session.
 * Entries that are taken move to the lists, the others are freed. */
static bool take_directory(struct search *search, const char *directory, path_list *below,
                           struct error *err)
{
    path_list entries = {0};
    bool has_rings = false;
    if (search->recovered)
        recover(search, directory);
    else
        has_rings = take_rings(search, directory);
    bool ok = paths_list(directory, &entries, err);
    char **entry;
    array_each (entry, &entries) {
        struct stat status;
        if (lstat(*entry, &status) != 0)
            continue;
        bool is_directory = S_ISDIR(status.st_mode) && strcmp(path_name(*entry), RECORD_RINGS) != 0;
        search->device_profiles += is_new_device_profile(*entry, &status, search->since_ns);
        bool is_file = !is_directory && search->files && is_session_file(*entry) &&
                       !(has_rings && is_in_rings(directory, *entry));
        if (is_directory || is_file) {
            *array_push(is_directory ? below : search->files) = *entry;
            *entry = NULL;
        }
    }
    paths_free(&entries);
    return ok;
}

/* Breadth-first, so that links and depth do no harm. */
static bool take_all(struct search *search, const char *root, struct error *err)
{
    path_list level = {0};
    *array_push(&level) = mem_copy_text(root, strlen(root));
    bool ok = true;
    for (unsigned depth = 0; depth <= MAX_DEPTH && level.count > 0; depth++) {
        path_list below = {0};
        char **directory;
        array_each (directory, &level) {
            struct error unreadable;
            if (!take_directory(search, *directory, &below, &unreadable) && depth == 0) {
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

/* The parent directory of a path; free it with mem_free. */
static char *directory_above(const char *path)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    const char *slash = memrchr(path, '/', size);
    return slash ? mem_copy_text(path, (size_t)(slash - path) + (slash == path))
                 : mem_copy_text(".", 1);
}

/* Whether it is a session's rings/ directory, which represents the session. */
static bool is_rings(const char *path)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    struct text text = {path, size}, name = TEXT(RECORD_RINGS);
    bool is_named =
        text_ends(text, name) && (size == name.size || path[size - name.size - 1] == '/');
    char *above = directory_above(path);
    bool is_from_rings = is_named && record_is_left_over(above);
    mem_free(above);
    return is_from_rings;
}

static bool search_path(struct search *search, const char *path, struct error *err)
{
    bool is_directory = file_is_directory(path), stands_for = is_rings(path);
    if (is_directory && !stands_for)
        return take_all(search, path, err);
    if (!is_directory && !is_session_file(path))
        return true;
    char *directory = directory_above(path);
    path_list below = {0};
    bool ok = take_directory(search, directory, &below, err);
    paths_free(&below);
    mem_free(directory);
    return ok;
}

bool recording_find(const char *path, path_list *files, path_list *rings, path_list *warnings,
                    struct error *err)
{
    struct search search = {.files = files, .rings = rings, .warnings = warnings};
    return search_path(&search, path, err);
}

bool recording_recover(const char *path, int64_t since_ns, recovered_list *list, struct error *err)
{
    struct search search = {.recovered = list, .since_ns = since_ns};
    struct stat status;
    if (stat(path, &status) != 0)
        return error_in_file(err, path, "cannot be opened: %s", strerror(errno));
    return search_path(&search, path, err);
}

void recovered_free(recovered_list *list)
{
    struct recovered *result;
    array_each (result, list)
        mem_free(result->directory);
    array_free(list);
}

static bool count_activity(void *context, enum gpu_table table, const uint64_t *values)
{
    struct drops *counts = context;
    (void)values;
    counts->stored += gpu_is_activity(table);
    return true;
}

/* The file beside trace_info.pb, if there is one. */
static struct drops count_gpu(const char *info)
{
    struct drops counts = {0};
    struct file file;
    struct error ignored;
    char *directory = directory_above(info), *path = path_join(directory, "gpu_trace.pb");
    if (is_session_file(path) && file_open(&file, path, &ignored)) {
        struct gpu_file gpu = {.data = file.data, .size = file.size};
        gpu_file_read(&gpu);
        gpu_file_walk(&gpu, count_activity, &counts);
        counts.dropped = gpu.lost;
        gpu_file_free(&gpu);
        file_close(&file);
    }
    mem_free(path);
    mem_free(directory);
    return counts;
}

static void count_session(const char *path, int64_t since_ns, struct recording_counts *counts)
{
    struct file file;
    struct error ignored;
    struct session_info info;
    struct pb_reader failed;
    if (!file_open(&file, path, &ignored))
        return;
    if (session_recognize(file.data, file.size) == SESSION_INFO &&
        session_info_read(file.data, file.size, &info, &failed) && info.end_ns >= since_ns) {
        counts->processes++;
        struct drops gpu = count_gpu(path), all = session_drops(&info, gpu);
        counts->kept += info.kept;
        counts->gpu += gpu.stored;
        counts->drops.dropped += all.dropped;
        counts->drops.stored += all.stored;
    }
    file_close(&file);
}

bool recording_survey(const char *path, int64_t since_ns, struct recording_counts *counts,
                      struct error *err)
{
    path_list files = {0}, rings = {0}, warnings = {0};
    struct search search = {
        .files = &files, .rings = &rings, .warnings = &warnings, .since_ns = since_ns};
    bool ok = search_path(&search, path, err);
    *counts = (struct recording_counts){.device_profiles = search.device_profiles};
    char **file;
    array_each (file, &files)
        count_session(*file, since_ns, counts);
    paths_free(&files);
    paths_free(&rings);
    paths_free(&warnings);
    return ok;
}
