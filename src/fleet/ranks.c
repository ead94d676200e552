/*
 * Finds runs and their ranks in a dataset.
 */
#include "fleet/ranks.h"

#include "fleet/analysis.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* %2F is a slash. */
static char *hive_unescape(const char *text)
{
    char *plain = mem_alloc(strlen(text) + 1), *at = plain;
    for (; *text; text++) {
        if (text[0] == '%' && isxdigit((unsigned char)text[1]) &&
            isxdigit((unsigned char)text[2])) {
            const char digits[] = {text[1], text[2], '\0'};
            *at++ = (char)strtoul(digits, NULL, 16);
            text += 2;
        } else {
            *at++ = *text;
        }
    }
    *at = '\0';
    return plain;
}

/* Names in a directory that begin with the prefix, sorted. */
typedef ARRAY(char *) entry_names;

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool list_names(const char *path, const char *prefix, entry_names *names, struct error *err)
{
    *names = (entry_names){0};
    DIR *folder = opendir(path);
    if (!folder)
        return error_in_file(err, path, "cannot open: %s", strerror(errno));
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            *array_push(names) = mem_copy_text(entry->d_name, strlen(entry->d_name));
    closedir(folder);
    if (names->count > 0)
        qsort(names->items, names->count, sizeof *names->items, compare_names);
    return true;
}

static void free_names(entry_names *names)
{
    char **name;
    array_each (name, names)
        mem_free(*name);
    array_free(names);
}

static bool check_dataset(const char *dataset, struct error *err)
{
    struct stat status;
    char *marker = path_format("%s/_dataset.json", dataset);
    bool ok = stat(marker, &status) == 0;
    mem_free(marker);
    if (!ok && !file_is_directory(dataset))
        return error_in_file(err, dataset, "cannot open: %s", strerror(errno));
    return ok || error_in_file(err, dataset, "not a dataset: it has no file _dataset.json");
}

bool fleet_runs(const char *dataset, run_names *names, struct error *err)
{
    *names = (run_names){0};
    entry_names folders;
    char *path = path_format("%s/Rank", dataset);
    bool ok = check_dataset(dataset, err) && list_names(path, "run=", &folders, err);
    mem_free(path);
    if (!ok)
        return false;
    char **folder;
    array_each (folder, &folders)
        *array_push(names) = hive_unescape(*folder + strlen("run="));
    free_names(&folders);
    return true;
}

void run_names_free(run_names *names)
{
    char **name;
    array_each (name, names)
        mem_free(*name);
    array_free(names);
}

static void add_rank(struct run_files *files, const char *table, const char *instance,
                     const char *rank)
{
    const char *digits = rank + strlen("rank=");
    char *path = path_format("%s/%s/%s/%s/part-0.parquet", table, files->folder, instance, rank);
    struct stat status;
    if (isdigit((unsigned char)*digits) && stat(path, &status) == 0)
        *array_push(&files->ranks) = (struct rank_file){
            .place = path_format("%s/%s", instance, rank),
            .rank = strtoull(digits, NULL, 10),
            .size = (uint64_t)status.st_size,
            .changed_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec};
    mem_free(path);
}

/* The same rank on two machines would be compared with itself. */
static int compare_ranks(const void *a, const void *b)
{
    const struct rank_file *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return strcmp(left->place, right->place);
}

static bool check_ranks(struct run_files *files, const char *dataset, const char *run,
                        struct error *err)
{
    const struct rank_file *ranks = files->ranks.items;
    if (files->ranks.count == 0)
        return error_in_file(err, dataset, "has no ranks of a run %s", run);
    qsort(files->ranks.items, files->ranks.count, sizeof *files->ranks.items, compare_ranks);
    for (size_t i = 1; i < files->ranks.count; i++)
        if (ranks[i].rank == ranks[i - 1].rank)
            return error_in_file(err, dataset, "run %s has rank %llu twice: %s and %s", run,
                                 (unsigned long long)ranks[i].rank, ranks[i - 1].place,
                                 ranks[i].place);
    return true;
}

/* The folder of a run, or NULL. */
static char *find_folder(const char *table, const char *run)
{
    entry_names folders;
    struct error ignored;
    char *found = NULL;
    if (!list_names(table, "run=", &folders, &ignored))
        return NULL;
    for (size_t i = 0; i < folders.count && !found; i++) {
        char *name = hive_unescape(folders.items[i] + strlen("run="));
        if (strcmp(name, run) == 0)
            found = mem_copy_text(folders.items[i], strlen(folders.items[i]));
        mem_free(name);
    }
    free_names(&folders);
    return found;
}

bool run_files_find(struct run_files *files, const char *dataset, const char *run,
                    struct error *err)
{
    *files = (struct run_files){0};
    if (!check_dataset(dataset, err))
        return false;
    char *table = path_format("%s/Rank", dataset);
    files->folder = find_folder(table, run);
    char *path = path_format("%s/%s", table, files->folder ? files->folder : "");
    entry_names instances, ranks;
    bool ok = files->folder ? list_names(path, "instance=", &instances, err)
                            : error_in_file(err, dataset, "has no run %s", run);
    if (ok) {
        char **instance, **rank;
        array_each (instance, &instances) {
            char *machine = path_format("%s/%s", path, *instance);
            struct error ignored;
            if (list_names(machine, "rank=", &ranks, &ignored))
                array_each (rank, &ranks)
                    add_rank(files, table, *instance, *rank);
            free_names(&ranks);
            mem_free(machine);
        }
        free_names(&instances);
        ok = check_ranks(files, dataset, run, err);
    }
    mem_free(path);
    mem_free(table);
    return ok;
}

void run_files_free(struct run_files *files)
{
    struct rank_file *rank;
    array_each (rank, &files->ranks)
        mem_free(rank->place);
    array_free(&files->ranks);
    mem_free(files->folder);
}
