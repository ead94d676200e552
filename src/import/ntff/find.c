/*
 * Finds NTFF files, and the NEFF that belongs to each.
 */
#include "import/ntff/device_source.h"

#include <sys/stat.h>

enum { MAX_DEPTH = 12 };

bool is_ntff(const char *path)
{
    struct file file;
    struct error ignored;
    if (file_is_directory(path) || !file_open(&file, path, &ignored))
        return false;
    bool is = ntff_recognize(file.data, file.size);
    file_close(&file);
    return is;
}

struct pending {
    char *path;
    unsigned depth;
};
typedef ARRAY(struct pending) pending_list;

/* Links to directories are not followed, to avoid loops. */
static void list_directory(const struct pending *at, pending_list *pending, path_list *found)
{
    path_list entries = {0};
    struct error ignored;
    if (!paths_list(at->path, &entries, &ignored))
        return;
    char **entry;
    array_each (entry, &entries) {
        struct stat status;
        if (lstat(*entry, &status) == 0 && S_ISDIR(status.st_mode) && at->depth < MAX_DEPTH)
            *array_push(pending) =
                (struct pending){mem_copy_text(*entry, strlen(*entry)), at->depth + 1};
        else if (text_ends(text_of(*entry), TEXT(".ntff")) && is_ntff(*entry))
            *array_push(found) = mem_copy_text(*entry, strlen(*entry));
    }
    paths_free(&entries);
}

/* Digits are compared as numbers, so that rank 10 comes after rank 9. */
static bool path_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return strverscmp(*(char *const *)a, *(char *const *)b) < 0;
}

bool find_ntffs(const char *directory, path_list *paths, struct error *err)
{
    path_list probe = {0};
    if (!paths_list(directory, &probe, err))
        return false;
    paths_free(&probe);
    pending_list pending = {0};
    *array_push(&pending) = (struct pending){mem_copy_text(directory, strlen(directory)), 0};
    while (pending.count > 0) {
        struct pending next = pending.items[--pending.count];
        list_directory(&next, &pending, paths);
        mem_free(next.path);
    }
    array_free(&pending);
    sort_items(paths->items, paths->count, sizeof *paths->items, path_before, NULL);
    return true;
}

static bool look_in(const char *directory, const uint8_t uuid[16], char **found)
{
    path_list entries = {0};
    struct error ignored;
    if (!paths_list(directory, &entries, &ignored))
        return false;
    char **entry;
    array_each (entry, &entries) {
        struct neff_header header;
        if (!*found && text_ends(text_of(*entry), TEXT(".neff")) &&
            neff_read_header(*entry, &header, &ignored) &&
            memcmp(header.uuid, uuid, sizeof header.uuid) == 0)
            *found = mem_copy_text(*entry, strlen(*entry));
    }
    paths_free(&entries);
    return *found != NULL;
}

bool find_neff(const char *ntff_path, char **neff_path, struct error *err)
{
    static const char *const places[] = {"", "/..", "/neffs", "/../neffs", "/../../neffs"};
    struct ntff *ntff = ntff_open(ntff_path, err);
    if (!ntff)
        return false;
    const struct ntff_header *header = ntff_header(ntff);
    const char *slash = strrchr(ntff_path, '/');
    int size = slash ? (int)(slash - ntff_path) : 1;
    *neff_path = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !*neff_path; i++) {
        char *directory = path_format("%.*s%s", size, slash ? ntff_path : ".", places[i]);
        look_in(directory, header->neff_uuid, neff_path);
        mem_free(directory);
    }
    char uuid[QUANTITY_SIZE];
    if (!*neff_path)
        error_in_file(err, ntff_path,
                      "its NEFF was not found: '%.100s', uuid %s; name the file with -n",
                      header->neff_name, format_uuid(header->neff_uuid, uuid));
    ntff_close(ntff);
    return *neff_path != NULL;
}
