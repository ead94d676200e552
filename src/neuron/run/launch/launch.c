/*
 * Workers: forks, what they send through pipes, and their ends.
 */
#include "neuron/run/launch/launch.h"

#include "base/clock.h"
#include "neuron/run/launch/seats.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    CHUNK = 64 << 10,
    GRACE_MS = 2000,     /* for the others to end after one failed */
    TERMINATE_MS = 1000, /* and after SIGTERM */
};

enum frame_kind { FRAME_DATA, FRAME_FAILED, FRAME_GAVE_UP };
struct frame { /* through the pipe, before its content */
    uint32_t kind;
    uint32_t size;
};

struct child {
    pid_t id;              /* 0: ended */
    int pipe;              /* -1: closed */
    struct output pending; /* received, not yet a whole frame */
    bool has_reported;
};

struct crew {
    const struct launch_options *launch;
    struct child *children;
    struct seats seats;
    uint32_t alive;
    bool has_failed, has_cause; /* error is of the one that failed, not of one that gave up */
    struct error error;
    int64_t end_by_ms; /* when the next signal is sent, after a failure */
    int signal;
};

static int report = -1; /* of a worker: the pipe */

/* ---- In a worker --------------------------------------------------------------------------- */

/* The parent reads until the end; if it dies, its signal ends this process, too. */
static void write_all(const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t written = write(report, at, size);
        if (written < 0 && errno != EINTR)
            return;
        at += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
}

static void send_frame(enum frame_kind kind, const void *data, size_t size)
{
    const struct frame frame = {.kind = kind, .size = (uint32_t)size};
    write_all(&frame, sizeof frame);
    write_all(data, size);
}

void launch_send(const void *data, size_t size)
{
    const char *at = data;
    enum { MOST = 1 << 30 };
    for (size_t part; size > 0 && report >= 0; at += part, size -= part) {
        part = size < MOST ? size : MOST;
        send_frame(FRAME_DATA, at, part);
    }
}

static void work(const struct crew *crew, uint32_t worker, int pipe)
{
    struct error err = {.offset = ERROR_NO_OFFSET};
    signal(SIGPIPE, SIG_IGN);
    report = pipe;
    seats_enter(&crew->seats, worker);
    enum launch_result result = crew->launch->work(crew->launch->context, worker, &err);
    if (result != LAUNCH_DONE)
        send_frame(result == LAUNCH_FAILED ? FRAME_FAILED : FRAME_GAVE_UP, &err, sizeof err);
    exit(result == LAUNCH_DONE ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* ---- In the parent ------------------------------------------------------------------------- */

static void note_failure(struct crew *crew, const struct error *err, bool is_cause)
{
    if (!crew->has_failed || (is_cause && !crew->has_cause))
        crew->error = *err;
    if (!crew->has_failed) {
        crew->end_by_ms = clock_monotonic_ms() + GRACE_MS;
        crew->signal = SIGTERM;
    }
    crew->has_failed = true;
    crew->has_cause |= is_cause;
}

/* The child closes the pipes of those before it, so that each pipe ends with its own worker. Never
 * returns in the child. */
static bool start_child(struct crew *crew, uint32_t worker)
{
    struct child *child = &crew->children[worker];
    struct error err;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        error_set(&err, "cannot start worker %u: %s", worker, strerror(errno));
        note_failure(crew, &err, true);
        return false;
    }
    child->id = child_fork(SIGTERM);
    if (child->id == 0) {
        for (uint32_t i = 0; i < worker; i++)
            close(crew->children[i].pipe);
        close(ends[0]);
        work(crew, worker, ends[1]);
    }
    close(ends[1]);
    if (child->id < 0) {
        error_set(&err, "cannot start worker %u: %s", worker, strerror(errno));
        note_failure(crew, &err, true);
        child->id = 0;
        close(ends[0]);
        return false;
    }
    child->pipe = ends[0];
    output_memory(&child->pending);
    crew->alive++;
    return true;
}

static void take_frame(struct crew *crew, uint32_t worker, const struct frame *frame,
                       const char *content)
{
    const struct launch_options *launch = crew->launch;
    struct error err;
    if (frame->kind == FRAME_DATA) {
        if (launch->receive)
            launch->receive(launch->context, worker, content, frame->size);
    } else if (frame->size == sizeof err) {
        memcpy(&err, content, sizeof err);
        crew->children[worker].has_reported = true;
        note_failure(crew, &err, frame->kind == FRAME_FAILED);
    }
}

static void take_frames(struct crew *crew, uint32_t worker)
{
    struct output *pending = &crew->children[worker].pending;
    struct frame frame;
    size_t at = 0;
    while (pending->size - at >= sizeof frame) {
        memcpy(&frame, pending->data + at, sizeof frame);
        if (pending->size - at - sizeof frame < frame.size)
            break;
        take_frame(crew, worker, &frame, pending->data + at + sizeof frame);
        at += sizeof frame + frame.size;
    }
    if (at > 0)
        memmove(pending->data, pending->data + at, pending->size - at);
    pending->size -= at;
}

/* A worker that ended without a report failed, unless it exited with success. */
static void reap(struct crew *crew, uint32_t worker)
{
    struct child *child = &crew->children[worker];
    struct error err;
    char end[CHILD_TEXT_SIZE];
    int status;
    close(child->pipe);
    child->pipe = -1;
    child_wait(child->id, &status);
    child->id = 0;
    crew->alive--;
    if (child->has_reported || child_has_succeeded(status))
        return;
    if (crew->launch->workers > 1)
        error_set(&err, "%s %u %s", crew->launch->are_nodes ? "node" : "worker", worker,
                  child_end_text(status, end));
    else
        error_set(&err, "the workers' process %s", child_end_text(status, end));
    /* A signal of ours is not the cause. */
    note_failure(crew, &err, !crew->has_failed || crew->signal == SIGTERM);
}

static void read_some(struct crew *crew, uint32_t worker)
{
    char chunk[CHUNK];
    struct child *child = &crew->children[worker];
    ssize_t got = read(child->pipe, chunk, sizeof chunk);
    if (got > 0) {
        output_write(&child->pending, chunk, (size_t)got);
        take_frames(crew, worker);
    } else if (got == 0 || errno != EINTR) {
        reap(crew, worker);
    }
}

static void signal_all(struct crew *crew)
{
    for (uint32_t i = 0; i < crew->launch->workers; i++)
        if (crew->children[i].id > 0)
            kill(crew->children[i].id, crew->signal);
    crew->signal = SIGKILL;
    crew->end_by_ms = clock_monotonic_ms() + TERMINATE_MS;
}

static void wait_for_all(struct crew *crew)
{
    uint32_t count = crew->launch->workers;
    struct pollfd *files = mem_zeroed(count, sizeof *files);
    while (crew->alive > 0) {
        for (uint32_t i = 0; i < count; i++)
            files[i] = (struct pollfd){.fd = crew->children[i].pipe, .events = POLLIN};
        int64_t left = crew->has_failed ? crew->end_by_ms - clock_monotonic_ms() : -1;
        if (crew->has_failed && left <= 0)
            signal_all(crew);
        else if (poll(files, count, (int)left) > 0)
            for (uint32_t i = 0; i < count; i++)
                if (files[i].revents)
                    read_some(crew, i);
    }
    mem_free(files);
}

bool launch_run(const struct launch_options *launch, struct error *err)
{
    struct crew crew = {.launch = launch};
    if (!seats_take(&crew.seats, launch, err))
        return false;
    crew.children = mem_zeroed(launch->workers, sizeof *crew.children);
    for (uint32_t i = 0; i < launch->workers; i++)
        crew.children[i].pipe = -1;
    uint32_t started = 0;
    while (started < launch->workers && start_child(&crew, started))
        started++;
    wait_for_all(&crew);
    for (uint32_t i = 0; i < started; i++)
        output_discard(&crew.children[i].pending);
    mem_free(crew.children);
    seats_give_back(&crew.seats);
    if (crew.has_failed)
        *err = crew.error;
    return !crew.has_failed;
}
