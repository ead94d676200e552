/*
 * The desk: profiles that are open, and the queries that run on them.
 */
#include "serve/desk.h"

#include "serve/jobs.h"
#include "store/store.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_OPEN = 6, CLOSE_AFTER_MS = 60000, LOOK_MS = 100 };
/* Of the whole program, before mapped files are let go. */
#define MOST_RESIDENT (144L << 20)

struct opened {
    struct desk *desk;
    char *name, *directory;
    dev_t device;
    ino_t inode;
    struct timespec changed;
    unsigned users;
    bool is_stale; /* another one has its place: not for new users */
    int64_t used_ms;
    pthread_mutex_t lock; /* for opening */
    struct timeline *timeline;
    struct sql_database *database;
    struct opened *next;
};

struct desk {
    struct server *server;
    pthread_mutex_t lock;
    pthread_cond_t freed; /* a place for a query */
    struct opened *opened;
    struct asking *asking;
    unsigned running[ASKING_KINDS], most_running[ASKING_KINDS], waiting;
    bool is_stopping;
};

struct desk *desk_create(struct server *server)
{
    struct desk *desk = mem_zeroed(1, sizeof *desk);
    unsigned cores = pool_workers(server->pool);
    desk->server = server;
    desk->most_running[ASKING_SEARCH] = cores > 2 ? 2 * cores : 4;
    desk->most_running[ASKING_EXPORT] = EXPORTS_AT_ONCE;
    pthread_mutex_init(&desk->lock, NULL);
    pthread_cond_init(&desk->freed, NULL);
    return desk;
}

static void opened_free(struct opened *opened)
{
    if (opened->database)
        sql_close(opened->database);
    timeline_close(opened->timeline);
    pthread_mutex_destroy(&opened->lock);
    mem_free(opened->name);
    mem_free(opened->directory);
    mem_free(opened);
}

void desk_destroy(struct desk *desk)
{
    if (!desk)
        return;
    for (struct opened *opened = desk->opened, *next; opened; opened = next) {
        next = opened->next;
        opened_free(opened);
    }
    pthread_cond_destroy(&desk->freed);
    pthread_mutex_destroy(&desk->lock);
    mem_free(desk);
}

/* Takes those out of the list that are not used and stale, old or one too many; under the lock. */
static struct opened *take_unused(struct desk *desk, int64_t now)
{
    struct opened *taken = NULL, **oldest = NULL;
    size_t count = 0;
    for (struct opened **at = &desk->opened; *at;) {
        struct opened *opened = *at;
        if (opened->users == 0 && (opened->is_stale || now - opened->used_ms > CLOSE_AFTER_MS)) {
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
    if (count > MOST_OPEN && oldest) {
        struct opened *opened = *oldest;
        *oldest = opened->next;
        opened->next = taken;
        taken = opened;
    }
    return taken;
}

bool is_gone(int socket)
{
    struct pollfd peer = {.fd = socket, .events = POLLRDHUP};
    return poll(&peer, 1, 0) > 0 && (peer.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* Mapped files count as memory of the program: when they take too much, they are let go. The system
 * brings in more at a time than the index asks for, so only it knows how much that is. */
static bool is_large(void)
{
    long total = 0, mapped = 0, page = sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "re");
    bool ok = file && fscanf(file, "%*d %ld %ld", &total, &mapped) == 2;
    if (file)
        fclose(file);
    return ok && total * page > MOST_RESIDENT && mapped * page > MOST_RESIDENT / 2;
}

/* Under the lock, which keeps them open. */
static void let_timelines_rest(struct desk *desk)
{
    for (struct opened *opened = desk->opened; opened; opened = opened->next)
        if (pthread_mutex_trylock(&opened->lock) == 0) {
            if (opened->timeline)
                timeline_rest(opened->timeline);
            pthread_mutex_unlock(&opened->lock);
        }
}

void desk_tick(struct desk *desk)
{
    int64_t now = now_ms();
    bool has_too_much = is_large();
    pthread_mutex_lock(&desk->lock);
    for (struct asking *asking = desk->asking; asking; asking = asking->next) {
        if (now > asking->deadline_ms)
            atomic_store(&asking->is_late, true);
        if (desk->is_stopping || now > asking->deadline_ms || is_gone(asking->socket))
            sql_interrupt(asking->connection);
    }
    if (has_too_much)
        let_timelines_rest(desk);
    struct opened *unused = take_unused(desk, now);
    pthread_mutex_unlock(&desk->lock);
    for (struct opened *next; unused; unused = next) {
        next = unused->next;
        opened_free(unused);
    }
}

void desk_stop(struct desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    desk->is_stopping = true;
    pthread_cond_broadcast(&desk->freed);
    pthread_mutex_unlock(&desk->lock);
}

static bool is_same(const struct opened *opened, const char *name, const struct stat *status)
{
    return !opened->is_stale && strcmp(opened->name, name) == 0 &&
           opened->inode == status->st_ino && opened->device == status->st_dev &&
           opened->changed.tv_sec == status->st_mtim.tv_sec &&
           opened->changed.tv_nsec == status->st_mtim.tv_nsec;
}

struct opened *open_profile(struct request *request, struct reply *reply)
{
    struct desk *desk = request->server->desk;
    const char *name = request->parameters[0];
    struct error err;
    struct stat status;
    char *directory;
    if (!profile_place(request->server->data_path, name, &directory, &err)) {
        reply_failure(reply, MHD_HTTP_NOT_FOUND, &err);
        return NULL;
    }
    if (lstat(directory, &status) != 0 || !S_ISDIR(status.st_mode)) {
        jobs_reply_unready(request, reply, name);
        mem_free(directory);
        return NULL;
    }
    pthread_mutex_lock(&desk->lock);
    struct opened *found = NULL;
    for (struct opened *opened = desk->opened; opened; opened = opened->next)
        if (is_same(opened, name, &status))
            found = opened;
        else if (strcmp(opened->name, name) == 0)
            opened->is_stale = true;
    if (!found) {
        found = mem_zeroed(1, sizeof *found);
        *found = (struct opened){.desk = desk,
                                 .name = mem_copy_text(name, strlen(name)),
                                 .directory = directory,
                                 .device = status.st_dev,
                                 .inode = status.st_ino,
                                 .changed = status.st_mtim,
                                 .next = desk->opened};
        pthread_mutex_init(&found->lock, NULL);
        desk->opened = found;
        directory = NULL;
    }
    found->users++;
    pthread_mutex_unlock(&desk->lock);
    mem_free(directory);
    return found;
}

void close_profile(struct opened *opened)
{
    if (!opened)
        return;
    struct desk *desk = opened->desk;
    pthread_mutex_lock(&desk->lock);
    opened->users--;
    opened->used_ms = now_ms();
    pthread_mutex_unlock(&desk->lock);
}

const char *opened_directory(const struct opened *opened)
{
    return opened->directory;
}

void reply_unreadable(const struct opened *opened, struct reply *reply, const struct error *err)
{
    struct stat status;
    bool is_there = lstat(opened->directory, &status) == 0;
    pthread_mutex_lock(&opened->desk->lock);
    bool is_new = is_there && !is_same(opened, opened->name, &status);
    pthread_mutex_unlock(&opened->desk->lock);
    if (!is_there)
        reply_error(reply, MHD_HTTP_NOT_FOUND, "there is no profile '%s'", opened->name);
    else if (is_new)
        reply_error(reply, MHD_HTTP_CONFLICT, "'%s' has just been made again; ask once more",
                    opened->name);
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
                reply_unreadable(opened, reply, &err);
        }
        mem_free(path);
    }
    struct timeline *timeline = opened->timeline;
    pthread_mutex_unlock(&opened->lock);
    return timeline;
}

static struct sql_database *opened_database(struct opened *opened, struct error *err)
{
    struct sql_limits limits = {.memory_bytes = ENGINE_MEMORY};
    pthread_mutex_lock(&opened->lock);
    if (!opened->database && !sql_open_within(&opened->database, opened->directory, &limits, err))
        opened->database = NULL;
    struct sql_database *database = opened->database;
    pthread_mutex_unlock(&opened->lock);
    return database;
}

/* Under the lock, which is not held while it waits. */
static void wait_a_little(struct desk *desk)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_clockwait(&desk->freed, &desk->lock, CLOCK_MONOTONIC, &until);
}

/* Few queries at a time: more would only be slower together. */
static bool wait_for_place(struct desk *desk, const struct asking *asking, struct reply *reply)
{
    const unsigned *running = &desk->running[asking->kind], most = desk->most_running[asking->kind];
    int64_t deadline = now_ms() + SEARCH_WAIT_MS;
    pthread_mutex_lock(&desk->lock);
    if (*running >= most && desk->waiting < SEARCHES_WAITING) {
        desk->waiting++;
        while (*running >= most && !desk->is_stopping && now_ms() < deadline &&
               !is_gone(asking->socket))
            wait_a_little(desk);
        desk->waiting--;
    }
    bool ok = *running < most && !desk->is_stopping;
    desk->running[asking->kind] += ok;
    pthread_mutex_unlock(&desk->lock);
    if (!ok)
        reply_error(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "too many %s are running; try again",
                    asking->kind == ASKING_EXPORT ? "exports" : "searches");
    return ok;
}

static void give_place_back(struct desk *desk, enum asking_kind kind)
{
    pthread_mutex_lock(&desk->lock);
    desk->running[kind]--;
    pthread_cond_broadcast(&desk->freed);
    pthread_mutex_unlock(&desk->lock);
}

bool asking_begin(struct asking *asking, struct opened *opened, struct request *request,
                  enum asking_kind kind, struct reply *reply)
{
    struct desk *desk = opened->desk;
    struct error err;
    unsigned limit_s = kind == ASKING_EXPORT ? EXPORT_S : SEARCH_S;
    *asking = (struct asking){.kind = kind,
                              .opened = opened,
                              .socket = request_socket(request),
                              .limit_s = limit_s,
                              .deadline_ms = now_ms() + (int64_t)limit_s * 1000};
    if (!wait_for_place(desk, asking, reply))
        return false;
    struct sql_database *database = opened_database(opened, &err);
    if (!database || !sql_connect(&asking->connection, database, &err)) {
        give_place_back(desk, kind);
        reply_unreadable(opened, reply, &err);
        return false;
    }
    pthread_mutex_lock(&desk->lock);
    asking->next = desk->asking;
    desk->asking = asking;
    pthread_mutex_unlock(&desk->lock);
    return true;
}

void asking_end(struct asking *asking)
{
    struct desk *desk = asking->opened->desk;
    pthread_mutex_lock(&desk->lock);
    struct asking **at = &desk->asking;
    while (*at != asking)
        at = &(*at)->next;
    *at = asking->next;
    pthread_mutex_unlock(&desk->lock);
    sql_disconnect(asking->connection);
    give_place_back(desk, asking->kind);
}

void asking_failed(struct asking *asking, struct reply *reply, const struct error *err)
{
    bool is_interrupted = strcmp(err->text, "interrupted") == 0;
    if (is_interrupted && atomic_load(&asking->is_late))
        reply_error(reply, MHD_HTTP_GATEWAY_TIMEOUT, "the query took more than %u s and was ended",
                    asking->limit_s);
    else if (is_interrupted)
        reply_error(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "the query was ended");
    else
        reply_unreadable(asking->opened, reply, err);
}

struct sql_result *ask(struct asking *asking, struct output *sql, struct reply *reply)
{
    struct sql_result *result;
    struct error err;
    output_char(sql, '\0');
    if (!sql_query(&result, asking->connection, sql->data, &err)) {
        asking_failed(asking, reply, &err);
        result = NULL;
    }
    sql->size = 0;
    return result;
}

size_t ask_next(struct asking *asking, struct sql_result *result, struct reply *reply, bool *ok)
{
    size_t rows;
    struct error err;
    if (sql_next(result, &rows, &err))
        return rows;
    asking_failed(asking, reply, &err);
    *ok = false;
    return 0;
}

bool has_table(const struct opened *opened, const char *table)
{
    char *path = path_format("%s/%s.parquet", opened->directory, table);
    bool is_there = access(path, R_OK) == 0;
    mem_free(path);
    return is_there;
}

int64_t sql_integer(const struct sql_result *result, size_t row, size_t column)
{
    struct text value = sql_value(result, row, column);
    char digits[32] = "";
    if (value.size < sizeof digits)
        memcpy(digits, value.data ? value.data : "", value.size);
    return strtoll(digits, NULL, 10);
}
