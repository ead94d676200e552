/*
 * The thread of a capture. Its lock is never held while the recorder is called.
 */
#include "capture/server/recording.h"

#include "base/clock.h"
#include "capture/server/descriptors.h"
#include "capture/server/session.h"
#include "kymo/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Guarded by the lock. */
    enum { RECORDING_NONE, RECORDING_RUNS, RECORDING_FINISHED } state;
    bool is_ended, is_canceled;
    pthread_t thread;
    struct profile_request request;
    uint8_t *options; /* a copy */
    void (*finished)(void);
    struct recorded_profile result;
} recording = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void (*_Atomic start_hook)(const void *options, size_t size);
static void (*_Atomic stop_hook)(void);
static void (*_Atomic other_begin)(const void *options, size_t size);
static void (*_Atomic other_end)(const char *path);

void recording_set_hooks(void (*start)(const void *options, size_t size), void (*stop)(void))
{
    atomic_store(&start_hook, start);
    atomic_store(&stop_hook, stop);
}

void recording_set_merged(void (*begin)(const void *options, size_t size),
                          void (*end)(const char *path))
{
    atomic_store(&other_begin, begin);
    atomic_store(&other_end, end);
}

/* ---- Fork ---------------------------------------------------------------------------------- */

void recording_lock(void)
{
    pthread_mutex_lock(&recording.lock);
}

void recording_unlock(void)
{
    pthread_mutex_unlock(&recording.lock);
}

void recording_forked(void)
{
    recording.state = RECORDING_NONE;
    pthread_cond_init(&recording.changed, NULL);
}

/* ---- Waiting ------------------------------------------------------------------------------- */

static bool is_canceled(void)
{
    pthread_mutex_lock(&recording.lock);
    bool result = recording.is_canceled;
    pthread_mutex_unlock(&recording.lock);
    return result;
}

/* Until a time, or the capture's end. */
static void wait_until(clockid_t clock, const struct timespec *until)
{
    int problem = 0;
    pthread_mutex_lock(&recording.lock);
    while (!recording.is_ended && !recording.is_canceled && problem != ETIMEDOUT)
        problem = until ? pthread_cond_clockwait(&recording.changed, &recording.lock, clock, until)
                        : pthread_cond_wait(&recording.changed, &recording.lock);
    pthread_mutex_unlock(&recording.lock);
}

static void wait_for_start(uint64_t start_ns)
{
    struct timespec until = clock_timespec((int64_t)start_ns);
    if (start_ns > 0 && start_ns <= INT64_MAX)
        wait_until(CLOCK_REALTIME, &until);
}

static void wait_for_end(uint64_t duration_ms)
{
    struct timespec until = clock_after_ns(0);
    if (duration_ms == MESSAGES_FOREVER) {
        wait_until(CLOCK_MONOTONIC, NULL);
        return;
    }
    until.tv_sec += (time_t)(duration_ms / 1000);
    until.tv_nsec += (long)(duration_ms % 1000) * 1000000L;
    until.tv_sec += until.tv_nsec / NS_PER_S;
    until.tv_nsec %= NS_PER_S;
    wait_until(CLOCK_MONOTONIC, &until);
}

/* ---- A capture ----------------------------------------------------------------------------- */

static int open_file(void *context)
{
    return open(context, O_RDONLY | O_CLOEXEC);
}

static void record(struct server_session *session)
{
    void (*start)(const void *, size_t) = atomic_load(&start_hook);
    if (start)
        start(recording.options, recording.request.options_size);
    wait_for_end(recording.request.duration_ms);
    void (*stop)(void) = atomic_load(&stop_hook);
    if (stop)
        stop();
    session_stop(session);
}

/* Starts the other profiler, unless the capture cannot begin because the program is being recorded
 * already. */
static bool begin_other(void)
{
    void (*begin)(const void *, size_t) = kymo_ticks() == 0 ? atomic_load(&other_begin) : NULL;
    if (begin)
        begin(recording.options, recording.request.options_size);
    return begin != NULL;
}

static void end_other(const char *path)
{
    void (*end)(const char *) = atomic_load(&other_end);
    if (end)
        end(path);
}

static bool make_profile(struct server_session *session, struct recorded_profile *result)
{
    struct stat file;
    if (!session_convert(session, PROFILE_WHOLE, is_canceled, &result->status))
        return false;
    result->fd = descriptor_keep(open_file, session->profile);
    if (result->fd < 0 || fstat(result->fd, &file) != 0)
        return status_set(&result->status, GRPC_INTERNAL, "The profile cannot be read: %s.",
                          strerror(errno));
    result->size = (uint64_t)file.st_size;
    if (result->size <= UINT32_MAX - MESSAGES_HEAD)
        return true;
    descriptor_close(result->fd);
    result->fd = -1;
    return status_set(&result->status, GRPC_RESOURCE_EXHAUSTED,
                      "The profile is larger than 4 GiB; record for less time.");
}

static void capture(struct recorded_profile *result)
{
    struct server_session session;
    wait_for_start(recording.request.start_ns);
    if (is_canceled())
        return;
    bool has_other = begin_other();
    bool is_started = session_start(&session, recording.request.level, &result->status);
    if (is_started)
        record(&session);
    if (has_other)
        end_other(is_started ? session.other : NULL);
    if (!is_started)
        return;
    if (!is_canceled())
        make_profile(&session, result);
    session_remove(&session);
}

static void *run(void *context)
{
    struct recorded_profile result = {.fd = -1};
    (void)context;
    pthread_setname_np(pthread_self(), "kymo-capture");
    capture(&result);
    pthread_mutex_lock(&recording.lock);
    recording.result = result;
    recording.state = RECORDING_FINISHED;
    free(recording.options);
    recording.options = NULL;
    void (*finished)(void) = recording.finished;
    pthread_mutex_unlock(&recording.lock);
    finished();
    return NULL;
}

/* ---- Control ------------------------------------------------------------------------------- */

/* The lock is held, and signals are blocked. */
static bool start_thread(const struct profile_request *request, struct status *status)
{
    recording.options = malloc(request->options_size + 1);
    if (!recording.options)
        return status_set(status, GRPC_RESOURCE_EXHAUSTED, "Out of memory for a capture.");
    if (request->options_size > 0)
        memcpy(recording.options, request->options, request->options_size);
    recording.request = *request;
    recording.request.options = NULL;
    recording.is_ended = recording.is_canceled = false;
    recording.state = RECORDING_RUNS;
    if (pthread_create(&recording.thread, NULL, run, NULL) == 0)
        return true;
    recording.state = RECORDING_NONE;
    free(recording.options);
    recording.options = NULL;
    return status_set(status, GRPC_RESOURCE_EXHAUSTED, "Cannot create a thread for the capture.");
}

bool recording_begin(const struct profile_request *request, void (*finished)(void),
                     struct status *status)
{
    pthread_mutex_lock(&recording.lock);
    bool ok = recording.state == RECORDING_NONE;
    if (ok) {
        recording.finished = finished;
        ok = start_thread(request, status);
    } else {
        status_set(status, GRPC_ALREADY_EXISTS, "Another profiling session active.");
    }
    pthread_mutex_unlock(&recording.lock);
    return ok;
}

bool recording_is_active(void)
{
    pthread_mutex_lock(&recording.lock);
    bool result = recording.state != RECORDING_NONE;
    pthread_mutex_unlock(&recording.lock);
    return result;
}

void recording_end(const char *session_id)
{
    pthread_mutex_lock(&recording.lock);
    if (recording.state == RECORDING_RUNS && strcmp(session_id, recording.request.session_id) == 0)
        recording.is_ended = true;
    pthread_cond_broadcast(&recording.changed);
    pthread_mutex_unlock(&recording.lock);
}

void recording_cancel(void)
{
    pthread_mutex_lock(&recording.lock);
    recording.is_canceled = true;
    pthread_cond_broadcast(&recording.changed);
    pthread_mutex_unlock(&recording.lock);
}

bool recording_take(struct recorded_profile *recorded)
{
    pthread_mutex_lock(&recording.lock);
    bool is_finished = recording.state == RECORDING_FINISHED;
    pthread_t thread = recording.thread;
    *recorded = recording.result;
    if (is_finished)
        recording.state = RECORDING_NONE;
    pthread_mutex_unlock(&recording.lock);
    if (is_finished)
        pthread_join(thread, NULL);
    return is_finished;
}
