/*
 * Paths in datasets, as Hive and Spark write them.
 */
#include "fleet/place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

void names_find(const char *directory, const char *prefix, name_list *names)
{
    DIR *stream = opendir(directory);
    struct dirent *entry;
    size_t size = strlen(prefix);
    while (stream && (entry = readdir(stream)))
        if (strncmp(entry->d_name, prefix, size) == 0 && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0)
            *array_push(names) = mem_copy_text(entry->d_name + size, strlen(entry->d_name) - size);
    if (stream)
        closedir(stream);
}

void names_free(name_list *names)
{
    char **name;
    array_each (name, names)
        mem_free(*name);
    array_free(names);
}

void remove_upwards(const char *path, unsigned levels)
{
    char *copy = mem_copy_text(path, strlen(path));
    bool is_gone = remove_profile(copy);
    while (is_gone && --levels > 0) {
        char *slash = strrchr(copy, '/');
        if (!slash || slash == copy)
            break;
        *slash = '\0';
        is_gone = rmdir(copy) == 0 || errno == ENOENT;
    }
    mem_free(copy);
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

void place_remove(const char *dataset, const char *place)
{
    enum { LEVELS = 3 };
    name_list tables = {0};
    char *path = path_format("%s/" RANK_TABLE "/%s", dataset, place);
    remove_upwards(path, LEVELS);
    mem_free(path);
    names_find(dataset, "", &tables);
    char **table;
    array_each (table, &tables) {
        bool is_ours = (*table)[0] != '_' || strcmp(*table, PROFILE_DIR) == 0;
        if ((*table)[0] == '.' || !is_ours)
            continue;
        path = path_format("%s/%s/%s", dataset, *table, place);
        remove_upwards(path, LEVELS + 1); /* a table without ranks is none */
        mem_free(path);
    }
    names_free(&tables);
    path = path_format("%s/" RANK_TABLE, dataset);
    rmdir(path);
    mem_free(path);
}
