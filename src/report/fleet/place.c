/*
 * Paths in datasets, as Hive and Spark write them.
 */
#include "report/fleet/place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Leaves room for ".instance=" and ".partial" in a file's name of 255 bytes. */
enum { MAX_ESCAPED = 200 };

/* The characters that Hive escapes in the values of partitions. */
static bool is_special(unsigned char c)
{
    return c < ' ' || c == 0x7f || strchr("\"#%'*/:=?\\{[]^", c) != NULL;
}

char *hive_escape(const char *name)
{
    char *escaped = mem_alloc(3 * strlen(name) + 1), *at = escaped;
    for (; *name; name++) {
        if (is_special((unsigned char)*name))
            at += sprintf(at, "%%%02X", (unsigned char)*name);
        else
            *at++ = *name;
    }
    *at = '\0';
    return escaped;
}

char *hive_unescape(const char *name)
{
    char *plain = mem_alloc(strlen(name) + 1), *at = plain;
    for (; *name; name++) {
        if (name[0] == '%' && isxdigit((unsigned char)name[1]) &&
            isxdigit((unsigned char)name[2])) {
            const char digits[] = {name[1], name[2], '\0'};
            *at++ = (char)strtoul(digits, NULL, 16);
            name += 2;
        } else {
            *at++ = *name;
        }
    }
    *at = '\0';
    return plain;
}

bool hive_check(const char *what, const char *name, struct error *err)
{
    char *escaped = hive_escape(name);
    size_t size = strlen(escaped);
    mem_free(escaped);
    if (!name[0])
        return error_set(err, "the name of the %s must not be empty", what);
    if (text_utf8_prefix(name, strlen(name)) != strlen(name))
        return error_set(err, "the name of the %s is not UTF-8", what);
    if (size > MAX_ESCAPED)
        return error_set(err, "the name of the %s is longer than %d bytes: %.40s...", what,
                         MAX_ESCAPED, name);
    return true;
}

char *place_path(const struct rank_place *place)
{
    char *run = hive_escape(place->run), *instance = hive_escape(place->instance);
    char *path = path_format("run=%s/instance=%s/rank=%lld", run, instance, (long long)place->rank);
    mem_free(run);
    mem_free(instance);
    return path;
}

/* Closes the directory. */
static void list_names(int directory, const char *prefix, name_list *names)
{
    DIR *stream = directory >= 0 ? fdopendir(directory) : NULL;
    struct dirent *entry;
    size_t size = strlen(prefix);
    while (stream && (entry = readdir(stream)))
        if (strncmp(entry->d_name, prefix, size) == 0 && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0)
            *array_push(names) = mem_copy_text(entry->d_name + size, strlen(entry->d_name) - size);
    if (stream)
        closedir(stream);
    else if (directory >= 0)
        close(directory);
}

void names_find(const char *directory, const char *prefix, name_list *names)
{
    list_names(open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), prefix, names);
}

void place_names(const char *dataset, const char *path, const char *prefix, name_list *names)
{
    list_names(place_open(dataset, path, false), prefix, names);
}

void names_free(name_list *names)
{
    char **name;
    array_each (name, names)
        mem_free(*name);
    array_free(names);
}

/* One directory further; fails with ELOOP if that is a link. */
static int step_into(int directory, const char *name, bool is_made)
{
    int problem = is_made && mkdirat(directory, name, 0777) != 0 && errno != EEXIST ? errno : 0;
    int inner = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0) {
        struct stat status;
        problem = problem ? problem : errno;
        if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode))
            problem = ELOOP; /* the kernel says ENOTDIR */
    }
    close(directory);
    errno = problem;
    return inner;
}

int place_open(const char *dataset, const char *path, bool is_made)
{
    char name[NAME_MAX + 1];
    int directory = open(dataset, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (directory >= 0 && *path) {
        size_t size = strcspn(path, "/");
        snprintf(name, sizeof name, "%.*s", (int)size, path);
        directory = step_into(directory, name, is_made);
        path += size + (path[size] == '/');
    }
    return directory;
}

static bool link_error(const char *dataset, const char *path, struct error *err)
{
    char *full = path_format("%s/%s", dataset, path);
    error_in_file(err, full,
                  "leads through a symbolic link; links inside a dataset are not followed, as they "
                  "may lead into another: remove it");
    mem_free(full);
    return false;
}

bool place_make(const char *dataset, const char *path, struct error *err)
{
    enum { TRIES = 100 }; /* others may remove one of them while it is empty */
    int directory = -1;
    errno = ENOENT;
    for (int tries = 0; directory < 0 && errno == ENOENT && tries < TRIES; tries++)
        directory = place_open(dataset, path, true);
    if (directory < 0 && errno == ELOOP)
        return link_error(dataset, path, err);
    if (directory < 0)
        return error_in_file(err, dataset, "cannot create directory %s: %s", path, strerror(errno));
    close(directory);
    return true;
}

void remove_upwards(const char *dataset, const char *path, unsigned levels)
{
    char *above = mem_copy_text(path, strlen(path));
    bool is_first = true, is_gone = true;
    for (; is_gone && levels > 0; levels--, is_first = false) {
        char *slash = strrchr(above, '/');
        const char *name = slash ? slash + 1 : above;
        if (slash)
            *slash = '\0';
        int parent = place_open(dataset, slash ? above : "", false);
        is_gone = parent < 0 ? errno == ENOENT
                  : is_first ? remove_profile_at(parent, name)
                             : unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
        if (parent >= 0)
            close(parent);
        if (!slash)
            break;
    }
    mem_free(above);
}

void rank_instances(const char *dataset, const char *escaped_run, int64_t rank, name_list *found)
{
    name_list instances = {0};
    char *run = path_format("%s/" RANK_TABLE "/run=%s", dataset, escaped_run);
    names_find(run, "instance=", &instances);
    char **instance;
    array_each (instance, &instances) {
        char *file =
            path_format("%s/instance=%s/rank=%lld/" PART_FILE, run, *instance, (long long)rank);
        if (access(file, F_OK) == 0)
            *array_push(found) = mem_copy_text(*instance, strlen(*instance));
        mem_free(file);
    }
    names_free(&instances);
    mem_free(run);
}

/* Tables, and the directory of what is not a table. */
static bool has_ranks(const char *name)
{
    return name[0] != '.' && (name[0] != '_' || strcmp(name, PROFILE_DIR) == 0);
}

bool place_check(const char *dataset, const char *place, struct error *err)
{
    name_list tables = {0};
    place_names(dataset, "", "", &tables);
    bool ok = true;
    for (size_t i = 0; i < tables.count && ok; i++) {
        if (!has_ranks(tables.items[i]))
            continue;
        char *path = path_format("%s/%s", tables.items[i], place);
        int directory = place_open(dataset, path, false);
        if (directory >= 0)
            close(directory);
        else if (errno == ELOOP)
            ok = link_error(dataset, path, err);
        mem_free(path);
    }
    names_free(&tables);
    return ok;
}

void place_remove(const char *dataset, const char *place)
{
    enum { LEVELS = 3 };
    name_list tables = {0};
    char *path = path_format(RANK_TABLE "/%s", place);
    remove_upwards(dataset, path, LEVELS);
    mem_free(path);
    place_names(dataset, "", "", &tables);
    char **table;
    array_each (table, &tables) {
        if (!has_ranks(*table))
            continue;
        path = path_format("%s/%s", *table, place);
        remove_upwards(dataset, path, LEVELS + 1); /* a table without ranks is none */
        mem_free(path);
    }
    names_free(&tables);
    path = path_format("%s/" RANK_TABLE, dataset);
    rmdir(path);
    mem_free(path);
}
