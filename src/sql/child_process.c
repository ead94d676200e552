/*
 * Child side of a query: limits itself, runs the query and writes the result to standard output. It
 * exits without closing DuckDB, which would take several milliseconds; the parent removes its
 * files.
 */
#include "sql/child_request.h"
#include "sql/engine.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_REQUEST = 32 << 20, NICENESS = 5 };

static struct {
    struct child_setup setup;
    struct child_request request;
    const char *directory, *query;
    struct text format;
    off_t size; /* of the request file */
} task;

static bool read_setup(void)
{
    struct stat status;
    return fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode) &&
           pread(STDIN_FILENO, &task.setup, sizeof task.setup, 0) == sizeof task.setup &&
           task.setup.magic == CHILD_MAGIC;
}

static bool is_terminated(const char *at, size_t size)
{
    return size > 0 && memchr(at, '\0', size) == at + size - 1;
}

static bool read_request(void)
{
    struct child_request *request = &task.request;
    struct stat status;
    off_t start = sizeof task.setup;
    if (pread(STDIN_FILENO, request, sizeof *request, start) != sizeof *request ||
        fstat(STDIN_FILENO, &status) != 0 || status.st_size > MAX_REQUEST)
        return false;
    start += (off_t)sizeof *request;
    size_t size = (size_t)(status.st_size - start);
    if (request->directory_size > size || request->query_size > size ||
        request->format_size > size ||
        request->directory_size + request->query_size + request->format_size != size)
        return false;
    char *bytes = mem_alloc(size);
    task.size = status.st_size;
    if (pread(STDIN_FILENO, bytes, size, start) != (ssize_t)size)
        return false;
    task.directory = bytes;
    task.query = task.directory + request->directory_size;
    task.format = (struct text){task.query + request->query_size, request->format_size};
    return is_terminated(task.directory, request->directory_size) &&
           is_terminated(task.query, request->query_size);
}

/* Besides the limits that the parent has set. */
static void yield_to_others(void)
{
    signal(SIGINT, SIG_IGN); /* Ctrl-C reaches the parent as well, which decides */
    mallopt(M_ARENA_MAX, 1); /* each arena reserves 64 MiB of address space */
    FILE *score = fopen("/proc/self/oom_score_adj", "we");
    if (score) {
        fputs("1000", score); /* kill this process before the server */
        fclose(score);
    }
}

/* A byte on the socket means that the request is complete; end of file, that the parent is gone. */
static void wait_for_parent(void)
{
    char byte;
    ssize_t got;
    while ((got = read(CHILD_CONTROL, &byte, 1)) < 0 && errno == EINTR)
        continue;
    if (got != 1)
        _exit(1);
}

static void *end_with_parent(void *unused)
{
    for (;;)
        wait_for_parent();
    return unused;
}

static _Noreturn void fail(enum sql_outcome outcome, const struct error *err)
{
    struct child_report failure = {CHILD_MAGIC, outcome, *err};
    ssize_t ignored = pwrite(STDIN_FILENO, &failure, sizeof failure, task.size);
    (void)ignored;
    _exit(1);
}

/* DuckDB's message does not mention the limit. */
static void name_limit(struct error *err)
{
    char text[ERROR_TEXT_SIZE];
    if (strncmp(err->text, "Out of Memory Error", 19) != 0 && !strstr(err->text, "bad_alloc"))
        return;
    snprintf(text, sizeof text, "%s", err->text);
    text[strcspn(text, "\n")] = '\0';
    error_set(err, "the query exceeds its memory limit of %zu MiB: %.300s",
              task.setup.limits.engine.memory_bytes >> 20, text);
}

/* Opens the engine before the task arrives: this takes most of a small query's time. */
static struct sql_engine prepare_engine(struct error *err)
{
    struct sql_engine engine = {.limits = task.setup.limits.engine};
    pthread_t thread;
    engine.limits.temporary = task.setup.temporary;
    yield_to_others();
    bool is_open = engine_open(&engine, err);
    wait_for_parent();
    if (pthread_create(&thread, NULL, end_with_parent, NULL) != 0 || !read_request())
        _exit(1);
    if (!is_open)
        fail(SQL_UNREADABLE, err);
    setpriority(PRIO_PROCESS, 0, NICENESS); /* the server has priority */
    return engine;
}

/* Never returns once it has a task: exiting without closing DuckDB saves milliseconds, and the
 * parent removes files. Whatever fails is reported in the request file. */
int sql_child_main(sql_write *write)
{
    struct sql_database *database = NULL;
    struct sql_connection *connection = NULL;
    struct sql_result *result = NULL;
    struct output out;
    struct error err;
    if (!read_setup()) {
        fputs("this command is internal\n", stderr);
        return 2;
    }
    struct sql_engine engine = prepare_engine(&err);
    if (!sql_open_in(&database, task.directory, task.query, &engine, &err) ||
        !sql_connect(&connection, database, &err))
        fail(SQL_UNREADABLE, &err);
    bool ok = task.request.is_list ? sql_list(&result, connection, &err)
                                   : sql_query(&result, connection, task.query, &err);
    ok = ok && output_open(&out, NULL, &err) && write(result, task.format, &out, &err) &&
         output_commit(&out, &err);
    if (!ok) {
        name_limit(&err);
        fail(SQL_FAILED, &err);
    }
    _exit(0);
}
