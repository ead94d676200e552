/*
 * The cache of open profiles.
 */
#include "serve/runs/open_profiles.h"

#include "serve/runs/opened.h"
#include "serve/runs/rank_links.h"
#include "store/tables/store.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct open_profiles *open_profiles_create(struct server *server)
{
    struct open_profiles *open_profiles = mem_zeroed(1, sizeof *open_profiles);
    unsigned cores = pool_workers(server->pool);
    open_profiles->server = server;
    open_profiles->max_running[QUERY_SEARCH] = cores > 2 ? 2 * cores : 4;
    open_profiles->max_running[QUERY_EXPORT] = MAX_EXPORTS;
    pthread_mutex_init(&open_profiles->lock, NULL);
    pthread_cond_init(&open_profiles->freed, NULL);
    return open_profiles;
}

static void opened_free(struct opened *opened)
{
    if (opened->database)
        sql_close(opened->database);
    intern_free(&opened->columns);
    timeline_close(opened->timeline);
    hit_cache_free(&opened->hits);
    pthread_mutex_destroy(&opened->lock);
    if (opened->mark)
        rank_links_remove(opened->directory);
    else
        mem_free(opened->directory);
    mem_free(opened->mark);
    mem_free(opened->name);
    mem_free(opened);
}

void open_profiles_destroy(struct open_profiles *open_profiles)
{
    if (!open_profiles)
        return;
    for (struct opened *opened = open_profiles->opened, *next; opened; opened = next) {
        next = opened->next;
        opened_free(opened);
    }
    pthread_cond_destroy(&open_profiles->freed);
    pthread_mutex_destroy(&open_profiles->lock);
    mem_free(open_profiles);
}

/* Unlinks unused profiles that are stale or idle too long, and the least recently used one above
 * MAX_OPEN_PROFILES. Call with the lock held. */
static struct opened *take_unused(struct open_profiles *open_profiles, int64_t now)
{
    struct opened *taken = NULL, **oldest = NULL;
    size_t count = 0;
    for (struct opened **at = &open_profiles->opened; *at;) {
        struct opened *opened = *at;
        if (opened->users == 0 && (opened->is_stale || now - opened->used_ms > PROFILE_IDLE_MS)) {
            *at = opened->next;
            opened->next = taken;
            taken = opened;
            continue;
        }
        if (opened->users == 0 && (!oldest || opened->used_ms < (*oldest)->used_ms))
            oldest = at;
        count++;
        at = &opened->next;
    }
    if (count > MAX_OPEN_PROFILES && oldest) {
        struct opened *opened = *oldest;
        *oldest = opened->next;
        opened->next = taken;
        taken = opened;
    }
    return taken;
}

/* Mapped files count as resident memory. Measured, since the kernel reads ahead more than the index
 * accesses. */
static bool is_over_memory(void)
{
    long total = 0, mapped = 0, page = sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "re");
    bool ok = file && fscanf(file, "%*d %ld %ld", &total, &mapped) == 2;
    if (file)
        fclose(file);
    return ok && total * page > MAX_RESIDENT && mapped * page > MAX_RESIDENT / 2;
}

/* Call with the lock held, which keeps them open. */
static void release_timelines(struct open_profiles *open_profiles)
{
    for (struct opened *opened = open_profiles->opened; opened; opened = opened->next)
        if (pthread_mutex_trylock(&opened->lock) == 0) {
            if (opened->timeline)
                timeline_release(opened->timeline);
            pthread_mutex_unlock(&opened->lock);
        }
}

void open_profiles_tick(struct open_profiles *open_profiles)
{
    int64_t now = clock_monotonic_ms();
    bool is_over = is_over_memory();
    pthread_mutex_lock(&open_profiles->lock);
    for (struct profile_query *query = open_profiles->queries; query; query = query->next) {
        if (now > query->deadline_ms)
            atomic_store(&query->is_timed_out, true);
        if (open_profiles->is_stopping || now > query->deadline_ms ||
            peer_has_closed(query->socket))
            sql_interrupt(query->connection);
    }
    if (is_over)
        release_timelines(open_profiles);
    struct opened *unused = take_unused(open_profiles, now);
    pthread_mutex_unlock(&open_profiles->lock);
    for (struct opened *next; unused; unused = next) {
        next = unused->next;
        opened_free(unused);
    }
}

void open_profiles_stop(struct open_profiles *open_profiles)
{
    pthread_mutex_lock(&open_profiles->lock);
    open_profiles->is_stopping = true;
    pthread_cond_broadcast(&open_profiles->freed);
    pthread_mutex_unlock(&open_profiles->lock);
}

bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool is_same(const struct opened *opened, const char *name, const struct stat *status)
{
    return !opened->is_stale && strcmp(opened->name, name) == 0 &&
           is_same_file(&opened->status, status);
}

/* Call with the lock held. */
static struct opened *find_opened(struct open_profiles *open_profiles, const char *name,
                                  const struct stat *status)
{
    struct opened *found = NULL;
    for (struct opened *opened = open_profiles->opened; opened; opened = opened->next)
        if (is_same(opened, name, status))
            found = opened;
        else if (strcmp(opened->name, name) == 0)
            opened->is_stale = true;
    return found;
}

/* Owns directory and mark from here on, also if the profile is already open: then both are freed,
 * and a directory of links, which only ranks have, is removed. */
struct opened *opened_share(struct open_profiles *open_profiles, const char *name, char *directory,
                            char *mark, const struct stat *status)
{
    pthread_mutex_lock(&open_profiles->lock);
    struct opened *found = find_opened(open_profiles, name, status);
    if (!found) {
        found = mem_zeroed(1, sizeof *found);
        *found = (struct opened){.open_profiles = open_profiles,
                                 .name = mem_copy_text(name, strlen(name)),
                                 .directory = directory,
                                 .mark = mark,
                                 .status = *status,
                                 .next = open_profiles->opened};
        pthread_mutex_init(&found->lock, NULL);
        intern_init(&found->columns);
        hit_cache_init(&found->hits);
        open_profiles->opened = found;
        directory = mark = NULL;
    }
    found->users++;
    pthread_mutex_unlock(&open_profiles->lock);
    if (mark)
        rank_links_remove(directory); /* another request was faster */
    else
        mem_free(directory);
    mem_free(mark);
    return found;
}

struct opened *opened_find_rank(struct open_profiles *open_profiles, const char *name)
{
    struct stat status;
    pthread_mutex_lock(&open_profiles->lock);
    struct opened *opened = open_profiles->opened;
    while (opened && (!opened->mark || opened->is_stale || strcmp(opened->name, name) != 0))
        opened = opened->next;
    bool is_there =
        opened && lstat(opened->mark, &status) == 0 && file_is_directory(opened->directory);
    if (opened && !is_there)
        opened->is_stale = true;
    opened = is_there ? find_opened(open_profiles, name, &status) : NULL;
    if (opened)
        opened->users++;
    pthread_mutex_unlock(&open_profiles->lock);
    return opened;
}

struct opened *open_results(struct request *request, const char *name, const char *directory,
                            struct reply *reply)
{
    struct stat status;
    if (lstat(directory, &status) != 0 || !S_ISDIR(status.st_mode)) {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "the results of '%s' are gone; try again", name);
        return NULL;
    }
    return opened_share(request->server->open_profiles, name,
                        mem_copy_text(directory, strlen(directory)), NULL, &status);
}

struct opened *opened_hold(struct opened *opened)
{
    pthread_mutex_lock(&opened->open_profiles->lock);
    opened->users++;
    pthread_mutex_unlock(&opened->open_profiles->lock);
    return opened;
}

void close_profile(struct opened *opened)
{
    if (!opened)
        return;
    struct open_profiles *open_profiles = opened->open_profiles;
    pthread_mutex_lock(&open_profiles->lock);
    opened->users--;
    opened->used_ms = clock_monotonic_ms();
    pthread_mutex_unlock(&open_profiles->lock);
}

const char *opened_directory(const struct opened *opened)
{
    return opened->directory;
}

const struct stat *opened_status(const struct opened *opened)
{
    return &opened->status;
}

bool opened_is_rank(const struct opened *opened)
{
    return opened->mark != NULL;
}

struct hit_cache *opened_hits(struct opened *opened)
{
    return &opened->hits;
}

void reply_no_profile(struct reply *reply, const char *name)
{
    reply_error(reply, MHD_HTTP_NOT_FOUND, "profile '%s' not found", name);
}

bool reply_if_gone(const struct opened *opened, struct reply *reply)
{
    struct stat status;
    bool is_there = lstat(opened->mark ? opened->mark : opened->directory, &status) == 0;
    pthread_mutex_lock(&opened->open_profiles->lock);
    bool is_new = is_there && !is_same(opened, opened->name, &status);
    pthread_mutex_unlock(&opened->open_profiles->lock);
    if (!is_there)
        reply_no_profile(reply, opened->name);
    else if (is_new)
        reply_error(reply, MHD_HTTP_CONFLICT, "'%s' was replaced meanwhile; try again",
                    opened->name);
    return !is_there || is_new;
}

void reply_unreadable(const struct opened *opened, struct reply *reply, const struct error *err)
{
    if (!reply_if_gone(opened, reply))
        reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, err);
}

static void reply_no_timeline(const struct opened *opened, const char *path, struct reply *reply,
                              const struct error *err)
{
    if (reply_if_gone(opened, reply))
        return;
    if (opened->mark && access(path, F_OK) != 0)
        reply_error(reply, MHD_HTTP_CONFLICT,
                    "'%s' has no timeline: the dataset has only its tables", opened->name);
    else
        reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, err);
}

struct timeline *opened_timeline(struct opened *opened, struct reply *reply)
{
    struct error err;
    pthread_mutex_lock(&opened->lock);
    if (!opened->timeline) {
        char *path = path_format("%s/%s", opened->directory, TIMELINE_FILE);
        if (!timeline_open(&opened->timeline, path, &err)) {
            opened->timeline = NULL;
            if (reply)
                reply_no_timeline(opened, path, reply, &err);
        }
        mem_free(path);
    }
    struct timeline *timeline = opened->timeline;
    pthread_mutex_unlock(&opened->lock);
    return timeline;
}
