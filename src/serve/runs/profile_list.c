/*
 * Makes the list of profiles; what is read from the files of each is cached.
 */
#include "serve/runs/profile_list.h"

#include "serve/jobs/jobs.h"
#include "serve/runs/log_runs.h"
#include "serve/runs/rank_links.h"
#include "store/tables/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void profile_entry_free(struct profile_entry *entry)
{
    mem_free(entry->name);
    mem_free(entry->reason);
    figures_free(&entry->figures);
}

void profile_entries_free(profile_entries *list)
{
    struct profile_entry *entry;
    array_each (entry, list)
        profile_entry_free(entry);
    array_free(list);
}

/* Cached statistics of a profile, valid until its directory changes. */
struct cached_profile {
    char *name;
    ino_t inode;
    struct timespec changed;
    struct list_figures figures;
    uint64_t bytes;
};
static ARRAY(struct cached_profile) cache;
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

static struct cached_profile *find_cached(const char *name)
{
    struct cached_profile *cached;
    array_each (cached, &cache)
        if (strcmp(cached->name, name) == 0)
            return cached;
    return NULL;
}

void profiles_cache_free(void)
{
    struct cached_profile *cached;
    array_each (cached, &cache) {
        mem_free(cached->name);
        figures_free(&cached->figures);
    }
    array_free(&cache);
}

/* Inode and mtime together detect a directory that was replaced. The lock is held while files are
 * read, so that concurrent requests for a list do not all read them. */
static void measure(struct profile_entry *entry, const char *directory, const struct stat *status)
{
    pthread_mutex_lock(&cache_lock);
    struct cached_profile *cached = find_cached(entry->name);
    bool is_fresh = cached && cached->inode == status->st_ino &&
                    cached->changed.tv_sec == status->st_mtim.tv_sec &&
                    cached->changed.tv_nsec == status->st_mtim.tv_nsec;
    if (!is_fresh) {
        if (cached) {
            figures_free(&cached->figures);
        } else {
            if (cache.count >= MAX_CACHED_PROFILES)
                profiles_cache_free();
            cached = array_push(&cache);
            cached->name = mem_copy_string(entry->name);
        }
        cached->inode = status->st_ino;
        cached->changed = status->st_mtim;
        cached->figures = figures_read(directory);
        cached->bytes = folder_size(directory, 0);
    }
    entry->figures = figures_copy(&cached->figures);
    entry->bytes = cached->bytes;
    pthread_mutex_unlock(&cache_lock);
}

static bool add_profile(struct server *server, const char *name, profile_entries *list)
{
    char *directory;
    struct error ignored;
    struct stat status;
    if (!profile_directory(server->data_path, name, &directory, &ignored))
        return false;
    bool is_there = lstat(directory, &status) == 0 && S_ISDIR(status.st_mode);
    if (is_there) {
        struct profile_entry *entry = array_push(list);
        *entry = (struct profile_entry){
            .name = mem_copy_string(name), .status = "ready", .percent = 100, .is_there = true};
        entry->created_ms =
            (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
        measure(entry, directory, &status);
    }
    mem_free(directory);
    return is_there;
}

struct profile_entry *profile_entry_named(const profile_entries *list, const char *name)
{
    struct profile_entry *entry;
    array_each (entry, list)
        if (entry->name && strcmp(entry->name, name) == 0)
            return entry;
    return NULL;
}

/* A profile being reprocessed is still listed; only its status changes. */
static void add_job(profile_entries *list, const struct job *job)
{
    static const char *const names[] = {"uploaded", "uploaded", "processing", "failed"};
    if (job->state == JOB_RECEIVING)
        return;
    struct profile_entry *entry = profile_entry_named(list, job->name);
    if (!entry) {
        entry = array_push(list);
        *entry = (struct profile_entry){.name = mem_copy_string(job->name),
                                        .created_ms = job->created_ms};
    }
    if (!entry->is_there || job->state != JOB_FAILED) {
        entry->status = names[job->state];
        entry->percent = job->percent;
    }
    mem_free(entry->reason);
    entry->reason = mem_copy_string(job->reason);
    entry->is_capture = job->addresses != NULL;
}

static void add_runs(struct server *server, profile_entries *list)
{
    run_list runs = runs_list(server);
    const struct run *run;
    array_each (run, &runs) {
        struct stat status;
        if (profile_entry_named(list, run->name) || stat(run->path, &status) != 0)
            continue;
        struct profile_entry *entry = array_push(list);
        *entry = (struct profile_entry){.name = mem_copy_string(run->name), .status = "uploaded"};
        entry->created_ms =
            (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
    }
    runs_free(&runs);
}

static int newest_first(const void *a, const void *b)
{
    const struct profile_entry *left = a, *right = b;
    if (left->created_ms != right->created_ms)
        return left->created_ms < right->created_ms ? 1 : -1;
    return strcmp(left->name, right->name);
}

/* Profiles, jobs and unprocessed runs of the same name become one entry; jobs come second, as they
 * change the status of a profile that exists, but are read first: a job that ends meanwhile has
 * left its profile. The caller frees the list. */
profile_entries profile_entries_find(struct server *server, const char *only)
{
    profile_entries list = {0};
    profile_names names = {0};
    struct error ignored;
    job_list jobs = jobs_list(server->jobs);
    if (only)
        add_profile(server, only, &list);
    else if (profile_list(server->data_path, &names, &ignored))
        for (size_t i = 0; i < names.count; i++)
            add_profile(server, names.items[i], &list);
    profile_names_free(&names);
    const struct job *job;
    array_each (job, &jobs)
        if (!only || strcmp(job->name, only) == 0)
            add_job(&list, job);
    jobs_free(&jobs);
    add_runs(server, &list);
    struct profile_entry *entry;
    array_each (entry, &list) {
        entry->is_favorite = notes_is_favorite(server, entry->name);
        if (!entry->is_there || !notes_id(server, entry->name, entry->id))
            entry->id[0] = '\0';
    }
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, newest_first);
    return list;
}

struct profile_entry rank_entry(const char *name, const struct opened *opened)
{
    const char *directory = opened_directory(opened);
    const struct timespec *changed = &opened_status(opened)->st_mtim;
    struct profile_entry entry = {.name = mem_copy_string(name),
                                  .status = "ready",
                                  .percent = 100,
                                  .created_ms = (int64_t)changed->tv_sec * 1000,
                                  .bytes = rank_links_size(directory),
                                  .figures = figures_read(directory)};
    return entry;
}
