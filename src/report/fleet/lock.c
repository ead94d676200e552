/*
 * Locks of ranks that are being added or removed, and what is left of those that were not finished.
 */
#include "report/fleet/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOCK_TRIES = 400, LOCK_PAUSE_US = 5000 };

/* A profile, or the lock of one. */
static void remove_staged(const char *dataset, const char *directory, const char *name)
{
    int fd = place_open(dataset, directory, false);
    if (fd < 0)
        return;
    if (!remove_profile_at(fd, name))
        unlinkat(fd, name, 0);
    close(fd);
}

/* Removes what was staged for a rank, and what of it is in tables already, if its row of Rank is
 * not. The lock must be held. */
static void remove_leftovers(const char *dataset, const char *escaped_run, int64_t rank)
{
    static const char *const prefixes[] = {"instance=", ".instance="};
    char *directory = path_format(STAGING_DIR "/run=%s/rank=%lld", escaped_run, (long long)rank);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        name_list instances = {0};
        place_names(dataset, directory, prefixes[i], &instances);
        char **instance;
        array_each (instance, &instances) {
            char *staged = path_format("%s%s", prefixes[i], *instance);
            char *place = path_format("run=%s/instance=%s/rank=%lld", escaped_run, *instance,
                                      (long long)rank);
            char *file = path_format("%s/" RANK_TABLE "/%s/" PART_FILE, dataset, place);
            if (prefixes[i][0] != '.' && access(file, F_OK) != 0)
                place_remove(dataset, place);
            remove_staged(dataset, directory, staged);
            mem_free(file);
            mem_free(place);
            mem_free(staged);
        }
        names_free(&instances);
    }
    remove_upwards(dataset, directory, 1);
    mem_free(directory);
}

/* Retries briefly: a process that cleans up may hold the lock for a moment, or remove the directory
 * between creating it and locking (ENOENT). The holder removes what a killed process left. */
bool rank_lock_take(struct rank_lock *lock, const char *dataset, const char *run, int64_t rank,
                    struct error *err)
{
    char *escaped = hive_escape(run);
    char *parent = path_format(STAGING_DIR "/run=%s", escaped);
    *lock = (struct rank_lock){
        .path = path_format("%s/%s/rank=%lld.lock", dataset, parent, (long long)rank),
        .directory = path_format("%s/%s/rank=%lld", dataset, parent, (long long)rank),
        .lock = -1,
    };
    bool ok = true;
    for (int tries = 0; tries < LOCK_TRIES && ok && lock->lock < 0; tries++) {
        if (tries > 0)
            usleep(LOCK_PAUSE_US); /* somebody who cleans up has it for a moment */
        ok = place_make(dataset, parent, err);
        if (ok)
            lock->lock = take_lock(lock->path);
        if (ok && lock->lock < 0 && errno != EWOULDBLOCK && errno != ENOENT)
            ok = error_in_file(err, lock->path, "cannot write: %s", strerror(errno));
    }
    if (ok && lock->lock < 0)
        ok = error_in_file(err, dataset,
                           "rank %lld of run %s is being added or removed by another process",
                           (long long)rank, run);
    if (ok)
        remove_leftovers(dataset, escaped, rank);
    else
        rank_lock_drop(lock);
    mem_free(parent);
    mem_free(escaped);
    return ok;
}

void rank_lock_drop(struct rank_lock *lock)
{
    if (lock->lock >= 0) {
        rmdir(lock->directory);
        drop_lock(lock->path, lock->lock);
        for (int level = 0; level < 2; level++) { /* of the run, and of all */
            *strrchr(lock->path, '/') = '\0';
            if (rmdir(lock->path) != 0)
                break;
        }
    }
    mem_free(lock->path);
    mem_free(lock->directory);
    *lock = (struct rank_lock){.lock = -1};
}

/* A mark beside the lock says what to remove, should this be killed. It may be the profile that is
 * to replace the rank, which must stay: only an empty directory goes. */
bool rank_remove(const struct rank_lock *lock, const char *dataset, const char *escaped_run,
                 int64_t rank, size_t *removed, struct error *err)
{
    name_list instances = {0};
    bool ok = true;
    rank_instances(dataset, escaped_run, rank, &instances);
    for (size_t i = 0; i < instances.count && ok; i++) {
        char *mark = path_format("%s/instance=%s", lock->directory, instances.items[i]);
        char *place = path_format("run=%s/instance=%s/rank=%lld", escaped_run, instances.items[i],
                                  (long long)rank);
        ok = place_check(dataset, place, err) &&
             place_make(dataset, mark + strlen(dataset) + 1, err);
        if (ok) {
            place_remove(dataset, place);
            (*removed)++;
            rmdir(mark);
        }
        mem_free(place);
        mem_free(mark);
    }
    names_free(&instances);
    return ok;
}

/* What was staged for ranks of a run, except for ranks whose lock somebody holds. */
static void clean_run(const char *dataset, const char *escaped_run)
{
    name_list ranks = {0};
    char *inside = path_format(STAGING_DIR "/run=%s", escaped_run);
    char *run = path_format("%s/%s", dataset, inside);
    place_names(dataset, inside, "rank=", &ranks);
    mem_free(inside);
    char **rank;
    array_each (rank, &ranks) {
        char *end;
        long long number = strtoll(*rank, &end, 10);
        if (end == *rank || (*end && strcmp(end, ".lock") != 0))
            continue;
        char *path = path_format("%s/rank=%lld.lock", run, number);
        int lock = take_lock(path);
        if (lock >= 0) {
            remove_leftovers(dataset, escaped_run, number);
            drop_lock(path, lock);
        }
        mem_free(path);
    }
    names_free(&ranks);
    rmdir(run);
    mem_free(run);
}

void staging_clean(const char *dataset)
{
    name_list runs = {0};
    char *staging = path_format("%s/" STAGING_DIR, dataset);
    place_names(dataset, STAGING_DIR, "run=", &runs);
    char **run;
    array_each (run, &runs)
        clean_run(dataset, *run);
    names_free(&runs);
    rmdir(staging);
    mem_free(staging);
}
