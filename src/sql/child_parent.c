/*
 * Parent side of a query's child process: starts it, reads its output, and kills it on timeout or
 * cancellation.
 */
#include "base/clock.h"
#include "sql/child_request.h"
#include "sql/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 20, CHUNK_SIZE = 64 << 10, SPARE_CPU_S = 5 };

struct sql_child {
    pid_t id;
    int request;      /* memfd, see child_request.h */
    off_t end;        /* its size */
    int answer;       /* pipe, the child's standard output */
    int control;      /* socket */
    bool is_over;     /* reaped */
    bool is_too_long; /* exceeds answer_bytes */
    int status;
    char temporary[ERROR_FILE_SIZE];
};

static bool append(struct sql_child *child, struct text part)
{
    ssize_t written = pwrite(child->request, part.data, part.size, child->end);
    if (written != (ssize_t)part.size)
        return false;
    child->end += written;
    return true;
}

static bool write_setup(struct sql_child *child, const struct sql_child_limits *limits)
{
    struct child_setup setup = {.magic = CHILD_MAGIC, .limits = *limits};
    memcpy(setup.temporary, child->temporary, sizeof setup.temporary);
    return append(child, (struct text){(const char *)&setup, sizeof setup});
}

static bool send_request(struct sql_child *child, const struct sql_task *task)
{
    const char *query = task->query ? task->query : "";
    struct child_request request = {.is_list = !task->query,
                                    .directory_size = strlen(task->directory) + 1,
                                    .query_size = strlen(query) + 1,
                                    .format_size = task->format.size};
    return append(child, (struct text){(const char *)&request, sizeof request}) &&
           append(child, (struct text){task->directory, request.directory_size}) &&
           append(child, (struct text){query, request.query_size}) && append(child, task->format) &&
           send(child->control, "", 1, MSG_NOSIGNAL) == 1;
}

/* Runs this program again: DuckDB cannot be used in a fork of a multithreaded process. */
static int spawn(struct sql_child *child, const struct sql_child_limits *limits, int answer,
                 int control)
{
    const char *const arguments[] = {"kymo", SQL_CHILD_COMMAND, NULL};
    unsigned threads = limits->engine.threads ? limits->engine.threads : 1;
    const struct child_command command = {
        .program = "/proc/self/exe",
        .arguments = arguments,
        .files = {child->request, answer, CHILD_NULL, [CHILD_CONTROL] = control},
        .limits = {.address_bytes = limits->address_bytes,
                   .cpu_s = (uint64_t)limits->seconds * threads + SPARE_CPU_S},
    };
    return child_exec(&command, &child->id);
}

static void close_some(const int *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (files[i] >= 0)
            close(files[i]);
}

struct sql_child *sql_child_start(const struct sql_child_limits *limits, struct error *err)
{
    int answer[2] = {-1, -1}, control[2] = {-1, -1}, problem = 0;
    struct sql_child *child = mem_zeroed(1, sizeof *child);
    make_temporary_name(child->temporary, sizeof child->temporary);
    child->request = memfd_create("kymo-query", MFD_CLOEXEC);
    if (child->request < 0 || !write_setup(child, limits) || pipe2(answer, O_CLOEXEC) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0)
        problem = errno ? errno : EIO;
    if (!problem)
        problem = spawn(child, limits, answer[1], control[1]);
    close_some((int[]){answer[1], control[1]}, 2);
    child->answer = answer[0];
    child->control = control[0];
    if (!problem)
        return child;
    close_some((int[]){answer[0], control[0], child->request}, 3);
    mem_free(child);
    error_set(err, "cannot start the query process: %s", strerror(problem));
    return NULL;
}

bool sql_child_is_alive(struct sql_child *child)
{
    child->is_over = child->is_over || child_look(child->id, &child->status) != CHILD_RUNNING;
    return !child->is_over;
}

/* Reads a chunk of the answer; false at its end or above the size limit. */
static bool read_chunk(struct sql_child *child, const struct sql_task *task, uint64_t *taken,
                       struct output *answer)
{
    char part[CHUNK_SIZE];
    ssize_t got = read(child->answer, part, sizeof part);
    if (got < 0)
        return errno == EINTR;
    *taken += (uint64_t)got;
    child->is_too_long = task->answer_bytes > 0 && *taken > task->answer_bytes;
    if (!child->is_too_long)
        output_write(answer, part, (size_t)got);
    return got > 0 && !child->is_too_long;
}

/* Reads until the end of the answer; the exit status then tells whether the query succeeded. */
static enum sql_outcome read_answer(struct sql_child *child, const struct sql_task *task,
                                    struct output *answer, bool (*is_stopped)(void *context),
                                    void *context)
{
    int64_t deadline = clock_monotonic_ms() + (int64_t)task->limits.seconds * 1000;
    uint64_t taken = 0;
    for (;;) {
        struct pollfd more = {.fd = child->answer, .events = POLLIN};
        int ready = poll(&more, 1, POLL_MS);
        if (is_stopped(context) || answer->failed)
            return SQL_STOPPED;
        if (clock_monotonic_ms() > deadline)
            return SQL_TIMED_OUT;
        if (ready > 0 && !read_chunk(child, task, &taken, answer))
            return SQL_DONE;
    }
}

/* Removes spilled files left by a killed child. */
static void remove_temporary(const char *path)
{
    DIR *directory = opendir(path);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    rmdir(path);
}

/* Why a child that left no report ended. */
static enum sql_outcome explain_death(const struct sql_task *task, int status, struct error *err)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
        error_set(err, "the query took more than %u s and was canceled", task->limits.seconds);
        return SQL_TIMED_OUT;
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
        error_set(err, "DuckDB crashed at this query; it may be nested too deeply");
    else
        error_set(
            err,
            "the query exceeds its memory limit of %zu MiB of address space, or DuckDB crashed",
            task->limits.address_bytes >> 20);
    return SQL_FAILED;
}

static enum sql_outcome explain_end(const struct sql_child *child, const struct sql_task *task,
                                    struct error *err)
{
    struct child_report report;
    int status = child->status;
    if (child->is_too_long) {
        error_set(err, "the result is over %llu MiB; add a LIMIT or select fewer columns",
                  (unsigned long long)task->answer_bytes >> 20);
        return SQL_FAILED;
    }
    if (child_has_succeeded(status))
        return SQL_DONE;
    if (pread(child->request, &report, sizeof report, child->end) != sizeof report ||
        report.magic != CHILD_MAGIC)
        return explain_death(task, status, err);
    *err = report.error;
    return report.outcome;
}

/* Waits for the child, after killing it if is_killed. */
static void reap(struct sql_child *child, bool is_killed)
{
    if (is_killed && !child->is_over)
        kill(child->id, SIGKILL);
    if (!child->is_over)
        child_wait(child->id, &child->status);
    child->is_over = true;
}

void sql_child_end(struct sql_child *child)
{
    if (!child)
        return;
    reap(child, true);
    close_some((int[]){child->answer, child->control, child->request}, 3);
    remove_temporary(child->temporary);
    mem_free(child);
}

enum sql_outcome sql_task_run(const struct sql_task *task, struct sql_child *child,
                              struct output *answer, bool (*is_stopped)(void *context),
                              void *context, struct error *err)
{
    if (!child)
        child = sql_child_start(&task->limits, err);
    if (!child)
        return SQL_UNREADABLE;
    if (!send_request(child, task)) {
        error_set(err, "cannot send the query to its process: %s", strerror(errno));
        sql_child_end(child);
        return SQL_UNREADABLE;
    }
    enum sql_outcome outcome = read_answer(child, task, answer, is_stopped, context);
    reap(child, outcome != SQL_DONE || child->is_too_long);
    if (outcome == SQL_DONE)
        outcome = explain_end(child, task, err);
    else if (outcome == SQL_TIMED_OUT)
        error_set(err, "the query took more than %u s and was canceled", task->limits.seconds);
    sql_child_end(child);
    return outcome;
}
