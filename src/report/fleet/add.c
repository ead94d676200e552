/*
 * Adds a rank to a dataset: its profile is made aside, then its files are put in place, that of the
 * table Rank last.
 */
#include "report/fleet/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct rank_found rank_find(const struct catalog *catalog)
{
    struct rank_found found = {0};
    const struct host *host;
    array_each (host, &catalog->hosts) {
        if (host->has_rank && !found.has_rank) {
            found.has_rank = true;
            found.rank = host->rank;
        }
        if (host->world_size > found.world_size)
            found.world_size = host->world_size;
        if (host->machine != STRING_NONE && !found.host)
            found.host = catalog_text(catalog, host->machine).data;
    }
    return found;
}

char *run_of_path(const char *capture)
{
    char *real = realpath(capture, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    const char *name = "";
    if (slash && slash > real) {
        *slash = '\0';
        name = strrchr(real, '/') + 1;
    }
    char *run = name[0] ? mem_copy_text(name, strlen(name)) : mem_copy_text("run", 3);
    free(real);
    return run;
}

char *instance_of(const struct rank_found *found, int64_t rank)
{
    return found->host ? mem_copy_text(found->host, strlen(found->host))
                       : path_format("rank-%lld", (long long)rank);
}

/* Fails if the rank already exists. */
static bool check_absent(const char *dataset, const char *run, int64_t rank, struct error *err)
{
    name_list instances = {0};
    char *escaped = hive_escape(run);
    rank_instances(dataset, escaped, rank, &instances);
    bool is_there = instances.count > 0;
    names_free(&instances);
    mem_free(escaped);
    return !is_there ||
           error_in_file(err, dataset,
                         "rank %lld of run %s is there already; use --force to replace it",
                         (long long)rank, run);
}

bool dataset_is_free(const char *dataset, const char *run, int64_t rank, struct error *err)
{
    return check_absent(dataset, run, rank, err);
}

/* Moves a file; who removes another rank may remove a directory between the two steps. */
static bool move_file(const char *dataset, const char *from, const char *directory,
                      const char *name, struct error *err)
{
    enum { TRIES = 100 };
    bool is_moved = false, ok = true;
    for (int tries = 0; ok && !is_moved; tries++) {
        ok = place_make(dataset, directory, err);
        int to = ok ? place_open(dataset, directory, false) : -1;
        is_moved = to >= 0 && renameat(AT_FDCWD, from, to, name) == 0;
        int problem = errno;
        if (to >= 0)
            close(to);
        if (ok && !is_moved && (problem != ENOENT || tries == TRIES))
            ok = error_in_file(err, dataset, "cannot write %s/%s: %s", directory, name,
                               strerror(problem));
    }
    return ok;
}

static bool is_table_file(struct text name, struct text table)
{
    return name.size == table.size + strlen(".parquet") && text_starts(name, table) &&
           text_ends(name, TEXT(".parquet"));
}

/* Puts a file of the profile in its place. */
static bool publish_file(const char *dataset, const char *place, const char *staged,
                         const char *name, struct error *err)
{
    struct text text = text_of(name);
    bool is_table = text_ends(text, TEXT(".parquet"));
    char *from = path_format("%s/%s", staged, name);
    char *directory =
        is_table ? path_format("%.*s/%s", (int)(text.size - strlen(".parquet")), name, place)
                 : path_format(PROFILE_DIR "/%s", place);
    bool ok = move_file(dataset, from, directory, is_table ? PART_FILE : name, err);
    mem_free(directory);
    mem_free(from);
    return ok;
}

/* Puts all files in place; on failure nothing of the rank stays. */
static bool publish(const char *dataset, const char *place, const char *staged, struct error *err)
{
    name_list names = {0};
    names_find(staged, "", &names);
    bool ok = true;
    for (size_t i = 0; i < names.count && ok; i++)
        if (!is_table_file(text_of(names.items[i]), TEXT(RANK_TABLE)))
            ok = publish_file(dataset, place, staged, names.items[i], err);
    ok = ok && publish_file(dataset, place, staged, RANK_TABLE ".parquet", err);
    if (!ok)
        place_remove(dataset, place);
    names_free(&names);
    return ok;
}

/* Called with the rank locked. The profile is made before the old one is removed, so that a failed
 * import leaves the dataset as it was. */
static bool add_locked(const struct rank_addition *addition, const struct rank_lock *lock,
                       const struct analysis *analysis, struct source *source, struct pool *pool,
                       struct error *err)
{
    const char *dataset = addition->dataset;
    const struct rank_place *at = &addition->place;
    if (!addition->replace && !check_absent(dataset, at->run, at->rank, err))
        return false;
    struct profile_options options = addition->profile;
    char *run = hive_escape(at->run), *instance = hive_escape(at->instance);
    char *place = place_path(at);
    size_t removed = 0;
    char *staged = path_format("%s/instance=%s", lock->directory, instance);
    options.target = staged;
    bool ok = profile_make(&options, analysis, source, pool, err);
    if (ok) {
        ok = rank_remove(lock, dataset, run, at->rank, &removed, err) &&
             publish(dataset, place, staged, err);
        remove_profile(staged);
    }
    mem_free(staged);
    mem_free(place);
    mem_free(instance);
    mem_free(run);
    return ok;
}

bool dataset_add(const struct rank_addition *addition, const struct analysis *analysis,
                 struct source *source, struct pool *pool, struct error *err)
{
    const char *dataset = addition->dataset;
    const struct rank_place *place = &addition->place;
    struct rank_lock lock;
    if (!hive_check("run", place->run, err) || !hive_check("instance", place->instance, err) ||
        !dataset_create(dataset, err) ||
        !rank_lock_take(&lock, dataset, place->run, place->rank, err))
        return false;
    bool ok = add_locked(addition, &lock, analysis, source, pool, err);
    rank_lock_drop(&lock);
    staging_clean(dataset);
    return ok;
}
