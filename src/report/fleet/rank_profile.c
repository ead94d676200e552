/*
 * A rank of a dataset as a profile: its name, and a directory of links to its files that looks as
 * that of a profile does.
 */
#include "report/fleet/place.h"
#include "report/fleet/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char *rank_name(const char *run, int64_t rank)
{
    char *escaped = hive_escape(run);
    char *name = path_format("run=%s/rank=%lld", escaped, (long long)rank);
    mem_free(escaped);
    return name;
}

bool rank_name_read(const char *name, char **run, int64_t *rank)
{
    static const char run_is[] = "run=", rank_is[] = "/rank=";
    const char *slash = strchr(name, '/');
    if (strncmp(name, run_is, strlen(run_is)) != 0 || !slash ||
        strncmp(slash, rank_is, strlen(rank_is)) != 0)
        return false;
    char *escaped = mem_copy_text(name + strlen(run_is), (size_t)(slash - name) - strlen(run_is));
    *run = hive_unescape(escaped);
    *rank = strtoll(slash + strlen(rank_is), NULL, 10);
    mem_free(escaped);
    char *same = rank_name(*run, *rank);
    bool ok = *rank >= 0 && (*run)[0] && strcmp(same, name) == 0;
    mem_free(same);
    if (!ok)
        mem_free(*run);
    return ok;
}

bool rank_locate(const char *dataset, const char *run, int64_t rank, char **place,
                 struct error *err)
{
    name_list instances = {0};
    char *escaped = hive_escape(run);
    rank_instances(dataset, escaped, rank, &instances);
    bool ok = instances.count == 1;
    if (ok)
        *place = path_format("run=%s/instance=%s/rank=%lld", escaped, instances.items[0],
                             (long long)rank);
    else if (instances.count == 0)
        error_set(err, "run '%s' has no rank %lld", run, (long long)rank);
    else
        error_set(err, "run '%s' has rank %lld on several machines", run, (long long)rank);
    names_free(&instances);
    mem_free(escaped);
    return ok;
}

char *rank_mark(const char *dataset, const char *place)
{
    return path_format("%s/" RANK_TABLE "/%s/" PART_FILE, dataset, place);
}

bool rank_has_timeline(const char *dataset, const struct rank_place *place)
{
    char *folder = place_path(place);
    char *path = path_format("%s/" PROFILE_DIR "/%s/" TIMELINE_FILE, dataset, folder);
    bool is_there = access(path, R_OK) == 0;
    mem_free(path);
    mem_free(folder);
    return is_there;
}

bool run_has_timelines(const char *dataset, const char *run)
{
    char *escaped = hive_escape(run);
    char *path = path_format("%s/" PROFILE_DIR "/run=%s", dataset, escaped);
    bool is_there = access(path, R_OK) == 0;
    mem_free(path);
    mem_free(escaped);
    return is_there;
}

uint64_t rank_dropped(const char *dataset, const char *folder, const char *place)
{
    char *profile = path_format("%s/" PROFILE_DIR "/%s/%s", dataset, folder, place);
    uint64_t dropped = profile_drops(profile).dropped;
    mem_free(profile);
    return dropped;
}

static void add_drops(struct drops *sum, const char *instance)
{
    name_list ranks = {0};
    names_find(instance, "rank=", &ranks);
    char **rank;
    array_each (rank, &ranks) {
        char *profile = path_format("%s/rank=%s", instance, *rank);
        struct drops drops = profile_drops(profile);
        sum->dropped += drops.dropped;
        sum->stored += drops.stored;
        mem_free(profile);
    }
    names_free(&ranks);
}

struct drops run_drops(const char *dataset, const char *run)
{
    struct drops sum = {0};
    name_list instances = {0};
    char *escaped = hive_escape(run);
    char *path = path_format("%s/" PROFILE_DIR "/run=%s", dataset, escaped);
    names_find(path, "instance=", &instances);
    char **instance;
    array_each (instance, &instances) {
        char *machine = path_format("%s/instance=%s", path, *instance);
        add_drops(&sum, machine);
        mem_free(machine);
    }
    names_free(&instances);
    mem_free(path);
    mem_free(escaped);
    return sum;
}

/* Links to a file under a name, unless it is missing; takes over both. */
static bool link_file(char *file, char *name, struct error *err)
{
    struct stat status;
    bool ok = stat(file, &status) != 0 || !S_ISREG(status.st_mode) || symlink(file, name) == 0 ||
              error_in_file(err, name, "cannot create a link: %s", strerror(errno));
    mem_free(file);
    mem_free(name);
    return ok;
}

static bool link_tables(const char *dataset, const char *place, const char *directory,
                        struct error *err)
{
    name_list tables = {0};
    bool ok = true;
    names_find(dataset, "", &tables);
    for (size_t i = 0; i < tables.count && ok; i++)
        if (tables.items[i][0] != '_' && tables.items[i][0] != '.')
            ok = link_file(path_format("%s/%s/%s/" PART_FILE, dataset, tables.items[i], place),
                           path_format("%s/%s.parquet", directory, tables.items[i]), err);
    names_free(&tables);
    return ok;
}

static bool link_others(const char *dataset, const char *place, const char *directory,
                        struct error *err)
{
    name_list files = {0};
    bool ok = true;
    char *folder = path_format("%s/" PROFILE_DIR "/%s", dataset, place);
    names_find(folder, "", &files);
    for (size_t i = 0; i < files.count && ok; i++)
        ok = link_file(path_format("%s/%s", folder, files.items[i]),
                       path_format("%s/%s", directory, files.items[i]), err);
    names_free(&files);
    mem_free(folder);
    return ok;
}

bool rank_link(const char *dataset, const char *place, const char *directory, struct error *err)
{
    char *real = realpath(dataset, NULL);
    if (!real)
        return error_in_file(err, dataset, "cannot open: %s", strerror(errno));
    bool ok = link_tables(real, place, directory, err) && link_others(real, place, directory, err);
    free(real);
    return ok;
}
