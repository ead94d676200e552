/*
 * The parent of a query's process: starts it, takes its answer, and ends it when it takes too long
 * or nobody wants the answer any more.
 */
#include "sql/child_request.h"
#include "sql/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 20, PART_SIZE = 64 << 10 };

struct child {
    pid_t id;
    int request;      /* the file of child_request.h */
    off_t report_at;  /* where in it the report begins */
    int answer;       /* the pipe */
    bool is_too_long; /* the answer */
    char temporary[ERROR_FILE_SIZE];
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool write_request(struct child *child, const struct sql_task *task)
{
    const char *query = task->query ? task->query : "";
    struct child_request request = {.magic = CHILD_MAGIC,
                                    .parent = getpid(),
                                    .limits = task->limits,
                                    .address_bytes = task->address_bytes,
                                    .seconds = task->seconds,
                                    .is_list = !task->query,
                                    .directory_size = strlen(task->directory) + 1,
                                    .temporary_size = strlen(child->temporary) + 1,
                                    .query_size = strlen(query) + 1,
                                    .format_size = task->format.size};
    const struct text parts[] = {{(const char *)&request, sizeof request},
                                 {task->directory, request.directory_size},
                                 {child->temporary, request.temporary_size},
                                 {query, request.query_size},
                                 task->format};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ssize_t written = pwrite(child->request, parts[i].data, parts[i].size, child->report_at);
        if (written != (ssize_t)parts[i].size)
            return false;
        child->report_at += written;
    }
    return true;
}

/* The program itself, once more: a fork of one with threads could not use DuckDB. */
static int spawn(struct child *child, int answer)
{
    static char program[] = "kymo", command[] = SQL_CHILD_COMMAND;
    char *const arguments[] = {program, command, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int problem = posix_spawn_file_actions_adddup2(&files, child->request, STDIN_FILENO);
    if (!problem)
        problem = posix_spawn_file_actions_adddup2(&files, answer, STDOUT_FILENO);
    if (!problem)
        problem = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!problem)
        problem =
            posix_spawn(&child->id, "/proc/self/exe", &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return problem;
}

static bool start(struct child *child, const struct sql_task *task, struct error *err)
{
    int ends[2] = {-1, -1};
    *child = (struct child){.answer = -1};
    name_temporary(child->temporary, sizeof child->temporary);
    child->request = memfd_create("kymo-query", MFD_CLOEXEC);
    int problem = 0;
    if (child->request < 0 || !write_request(child, task) || pipe2(ends, O_CLOEXEC) != 0)
        problem = errno ? errno : EIO;
    if (!problem)
        problem = spawn(child, ends[1]);
    child->answer = ends[0];
    if (ends[1] >= 0)
        close(ends[1]);
    if (!problem)
        return true;
    if (child->answer >= 0)
        close(child->answer);
    if (child->request >= 0)
        close(child->request);
    return error_set(err, "the query's process cannot be started: %s", strerror(problem));
}

/* The next part of the answer; false at its end, or when there is too much of it. */
static bool take_part(struct child *child, const struct sql_task *task, uint64_t *taken,
                      struct output *answer)
{
    char part[PART_SIZE];
    ssize_t got = read(child->answer, part, sizeof part);
    if (got < 0)
        return errno == EINTR;
    *taken += (uint64_t)got;
    child->is_too_long = task->answer_bytes > 0 && *taken > task->answer_bytes;
    if (!child->is_too_long)
        output_write(answer, part, (size_t)got);
    return got > 0 && !child->is_too_long;
}

/* Until the answer has ended; SQL_DONE then, and the child's own end tells the rest. */
static enum sql_outcome take_answer(struct child *child, const struct sql_task *task,
                                    struct output *answer, bool (*is_stopped)(void *context),
                                    void *context)
{
    int64_t deadline = now_ms() + (int64_t)task->seconds * 1000;
    uint64_t taken = 0;
    for (;;) {
        struct pollfd more = {.fd = child->answer, .events = POLLIN};
        int ready = poll(&more, 1, LOOK_MS);
        if (is_stopped(context) || answer->failed)
            return SQL_STOPPED;
        if (now_ms() > deadline)
            return SQL_LATE;
        if (ready > 0 && !take_part(child, task, &taken, answer))
            return SQL_DONE;
    }
}

/* DuckDB's files, which a child that was killed could not remove. */
static void remove_temporary(const char *path)
{
    DIR *directory = opendir(path);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    rmdir(path);
}

/* What a child that left no report died of. */
static enum sql_outcome explain_death(const struct sql_task *task, int status, struct error *err)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
        error_set(err, "the query took more than %u s and was ended", task->seconds);
        return SQL_LATE;
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
        error_set(err, "DuckDB crashed at this query; it may be nested too deeply");
    else
        error_set(err, "the query needs more memory than it may take, %zu MiB, or DuckDB failed",
                  task->address_bytes >> 20);
    return SQL_FAILED;
}

static enum sql_outcome explain_end(const struct child *child, const struct sql_task *task,
                                    int status, struct error *err)
{
    struct child_report report;
    if (child->is_too_long) {
        error_set(err, "the answer is over %llu MiB; add a LIMIT, or ask for less of each row",
                  (unsigned long long)task->answer_bytes >> 20);
        return SQL_FAILED;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return SQL_DONE;
    if (pread(child->request, &report, sizeof report, child->report_at) != sizeof report ||
        report.magic != CHILD_MAGIC)
        return explain_death(task, status, err);
    *err = report.error;
    return report.outcome;
}

enum sql_outcome sql_task_run(const struct sql_task *task, struct output *answer,
                              bool (*is_stopped)(void *context), void *context, struct error *err)
{
    struct child child;
    int status = 0;
    if (!start(&child, task, err))
        return SQL_UNREADABLE;
    enum sql_outcome outcome = take_answer(&child, task, answer, is_stopped, context);
    close(child.answer);
    if (outcome != SQL_DONE || child.is_too_long)
        kill(child.id, SIGKILL);
    while (waitpid(child.id, &status, 0) < 0 && errno == EINTR)
        continue;
    if (outcome == SQL_DONE)
        outcome = explain_end(&child, task, status, err);
    else if (outcome == SQL_LATE)
        error_set(err, "the query took more than %u s and was ended", task->seconds);
    close(child.request);
    remove_temporary(child.temporary);
    return outcome;
}
