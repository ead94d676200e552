/*
 * Finds runs and their ranks in a dataset.
 */
#include "report/fleet/ranks.h"

#include "report/fleet/analysis.h"
#include "report/fleet/place.h"

#include <ctype.h>
#include <stdlib.h>
#include <sys/stat.h>

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool fleet_runs(const char *dataset, run_names *names, struct error *err)
{
    *names = (run_names){0};
    if (!dataset_check(dataset, err))
        return false;
    name_list folders = {0};
    char *path = path_format("%s/" RANK_TABLE, dataset);
    names_find(path, "run=", &folders);
    mem_free(path);
    char **folder;
    array_each (folder, &folders)
        *array_push(names) = hive_unescape(*folder);
    names_free(&folders);
    if (names->count > 0)
        qsort(names->items, names->count, sizeof *names->items, compare_names);
    return true;
}

int64_t fleet_run_changed_ms(const char *dataset, const char *run)
{
    char *escaped = hive_escape(run),
         *path = path_format("%s/" RANK_TABLE "/run=%s", dataset, escaped);
    struct stat status;
    bool is_there = stat(path, &status) == 0;
    mem_free(path);
    mem_free(escaped);
    return is_there ? (int64_t)status.st_mtim.tv_sec * 1000 : 0;
}

void run_names_free(run_names *names)
{
    char **name;
    array_each (name, names)
        mem_free(*name);
    array_free(names);
}

/* The run of a dataset with a name, or the only one if that is empty. */
static bool choose_run(const char *dataset, const char *name, char **run, struct error *err)
{
    run_names names;
    size_t found = SIZE_MAX;
    if (!fleet_runs(dataset, &names, err))
        return false;
    for (size_t i = 0; i < names.count; i++)
        if (strcmp(names.items[i], name) == 0 || (*name == '\0' && names.count == 1))
            found = i;
    if (found != SIZE_MAX) {
        *run = mem_copy_text(names.items[found], strlen(names.items[found]));
    } else {
        struct output list;
        output_memory(&list);
        for (size_t i = 0; i < names.count; i++)
            output_format(&list, "%s%s", i ? ", " : "", names.items[i]);
        output_char(&list, '\0');
        if (names.count == 0)
            error_in_file(err, dataset, "the dataset has no ranks yet");
        else if (*name)
            error_in_file(err, dataset, "has no run %s; its runs are: %.300s", name, list.data);
        else
            error_in_file(err, dataset, "has %zu runs, name one as DATASET/RUN: %.300s",
                          names.count, list.data);
        output_discard(&list);
    }
    run_names_free(&names);
    return found != SIZE_MAX;
}

enum run_path fleet_find_run(const char *path, char **dataset, char **run, struct error *err)
{
    char *part = mem_copy_text(path, strlen(path));
    size_t size = strlen(path);
    while (size > 0 && !dataset_is_marked(part)) {
        while (size > 0 && part[--size] != '/')
            ;
        part[size] = '\0';
    }
    if (size == 0) {
        mem_free(part);
        return RUN_PATH_OTHER;
    }
    const char *name = path + size + strspn(path + size, "/");
    if (!choose_run(part, name, run, err)) {
        mem_free(part);
        return RUN_PATH_FAILED;
    }
    *dataset = part;
    return RUN_PATH_FOUND;
}

static void add_rank(struct run_files *files, const char *table, const char *instance,
                     const char *rank)
{
    char *place = path_format("instance=%s/rank=%s", instance, rank);
    char *path = path_format("%s/%s/%s/" PART_FILE, table, files->folder, place);
    struct stat status;
    bool is_there = isdigit((unsigned char)*rank) && stat(path, &status) == 0;
    if (is_there)
        *array_push(&files->ranks) = (struct rank_file){
            .place = place,
            .rank = strtoull(rank, NULL, 10),
            .size = (uint64_t)status.st_size,
            .changed_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec};
    else
        mem_free(place);
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

/* Only file names are read: they hold machine and rank, so that a run of thousands of ranks is
 * listed without opening a file. Free with run_files_free, also on failure. */
bool run_files_find(struct run_files *files, const char *dataset, const char *run,
                    struct error *err)
{
    *files = (struct run_files){0};
    if (!dataset_check(dataset, err))
        return false;
    char *escaped = hive_escape(run);
    files->folder = path_format("run=%s", escaped);
    mem_free(escaped);
    char *table = path_format("%s/" RANK_TABLE, dataset);
    char *path = path_format("%s/%s", table, files->folder);
    name_list instances = {0};
    names_find(path, "instance=", &instances);
    char **instance, **rank;
    array_each (instance, &instances) {
        name_list ranks = {0};
        char *machine = path_format("%s/instance=%s", path, *instance);
        names_find(machine, "rank=", &ranks);
        array_each (rank, &ranks)
            add_rank(files, table, *instance, *rank);
        names_free(&ranks);
        mem_free(machine);
    }
    names_free(&instances);
    mem_free(path);
    mem_free(table);
    return check_ranks(files, dataset, run, err);
}

void run_files_free(struct run_files *files)
{
    struct rank_file *rank;
    array_each (rank, &files->ranks) {
        mem_free(rank->place);
        mem_free(rank->damage);
    }
    array_free(&files->ranks);
    mem_free(files->folder);
}
