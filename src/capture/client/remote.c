/*
 * A session: its directory, a thread for each host, retries, and the end on request.
 */
#include "capture/client/remote.h"

#include "base/clock.h"
#include "base/directory.h"
#include "capture/client/addresses.h"
#include "capture/client/call.h"
#include "capture/client/settings.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    DELAY_MS = 3000,     /* with several hosts: time to reach them all before they start together */
    COLLECT_MS = 120000, /* at least, from the end of the recording to the end of the answer */
    FIRST_RETRY_MS = 500,
    MAX_RETRY_MS = 8000,
    TICK_MS = 200,
    TERMINATE_MS = 5000,
    GRACE_MS = 30000, /* for answers after the end was requested */
    MAX_SAME_SECOND = 1000,
};
#define MAX_TIMEOUT_MS ((uint64_t)INT_MAX - 10000)
#define NO_TIME        INT64_MAX

struct session {
    const struct remote_options *options;
    struct remote_settings settings;
    address_list addresses;
    struct remote_session *result;
    char *root, *run; /* root: the directory of runs, absolute */
    uint64_t start_ns;
    int64_t deadline_ms; /* of the monotonic clock */
    struct answer_total total;
    atomic_int_fast64_t ended_ms; /* when the end was requested; NO_TIME: not yet */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t finished; /* guarded by the lock */
};

struct worker {
    struct session *session;
    size_t index;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_calling;
};

static bool is_ended(const struct session *session)
{
    return atomic_load(&session->ended_ms) != NO_TIME;
}

/* ---- One host ------------------------------------------------------------------------------ */

static bool is_past_grace(void *context)
{
    const struct session *session = context;
    int64_t ended_ms = atomic_load(&session->ended_ms);
    return ended_ms != NO_TIME && clock_monotonic_ms() - ended_ms > GRACE_MS;
}

static unsigned time_left_ms(const struct session *session)
{
    int64_t left = session->deadline_ms - clock_monotonic_ms();
    return left > 0 ? (unsigned)left : 0;
}

/* Busy, restarting, or not there yet. JAX's servers report a second session as INTERNAL. */
static bool is_worth_retrying(const struct call_status *status)
{
    return status->code == GRPC_UNAVAILABLE || status->code == GRPC_ALREADY_EXISTS ||
           (status->code == GRPC_UNKNOWN && strstr(status->message, "Stream removed")) ||
           (status->code == GRPC_INTERNAL && strstr(status->message, "Another profiling session"));
}

/* Runs in the host's thread. is_calling tells the session's thread which hosts to ask to terminate.
 */
static bool call_profile(struct worker *worker, struct output *out, struct answer *answer,
                         struct call_status *status, struct error *err)
{
    struct session *session = worker->session;
    const struct remote_address *address = &session->addresses.items[worker->index];
    struct output message;
    uint64_t now_ns = (uint64_t)clock_wall_ms() * 1000000;
    struct remote_request request = {.settings = &session->settings,
                                     .duration_ms = session->options->duration_ms,
                                     .start_ns = session->start_ns > now_ns ? session->start_ns : 0,
                                     .repository = session->root,
                                     .session_id = session->run,
                                     .host_name = address->name};
    output_memory(&message);
    request_put(&message, &request);
    answer_begin(answer, out, &session->total);
    struct remote_call call = {.host = address->host,
                               .port = address->port,
                               .method = "Profile",
                               .message = &message,
                               .timeout_ms = time_left_ms(session),
                               .answer = answer,
                               .is_over = is_past_grace,
                               .context = session};
    atomic_store(&worker->is_calling, true);
    bool ok = call_run(&call, status, err);
    atomic_store(&worker->is_calling, false);
    output_discard(&message);
    return ok;
}

/* Servers before jaxlib 0.7.2 do not send profiles: they write them, to their own file system. */
static bool find_written(struct remote_host *host, const char *path, const char *run)
{
    struct stat status;
    if (stat(path, &status) != 0 || status.st_size == 0)
        return error_set(&host->problem,
                         "the server did not send the profile, as servers before jaxlib 0.7.2 do "
                         "not: it has written it to %s/%s on its own side",
                         run, strrchr(path, '/') + 1);
    host->was_written_there = true;
    host->size_bytes = (uint64_t)status.st_size;
    host->path = mem_copy_text(path, strlen(path));
    return true;
}

static bool keep(struct remote_host *host, const struct answer *answer, struct output *out,
                 const char *path, const char *run)
{
    bool is_empty = answer->profile_bytes == 0;
    if (!answer_is_whole(answer) || (answer->has_profile && is_empty) ||
        (!answer->has_profile && answer->is_empty_trace)) {
        output_discard(out);
        return error_set(&host->problem, answer_is_whole(answer)
                                             ? "the profile is empty: nothing was recorded"
                                             : "the answer ends early");
    }
    if (!answer->has_profile) {
        output_discard(out);
        return find_written(host, path, run);
    }
    if (!output_commit(out, &host->problem))
        return false;
    host->size_bytes = answer->profile_bytes;
    host->path = mem_copy_text(path, strlen(path));
    return true;
}

/* One attempt. */
static bool try_host(struct worker *worker, struct remote_host *host, const char *path,
                     struct call_status *status)
{
    struct output out;
    struct answer answer;
    if (!output_open(&out, path, &host->problem))
        return false;
    if (!call_profile(worker, &out, &answer, status, &host->problem)) {
        output_discard(&out);
        return false;
    }
    if (status->code == GRPC_OK)
        return keep(host, &answer, &out, path, worker->session->result->directory);
    output_discard(&out);
    atomic_fetch_sub(&worker->session->total.bytes, answer.profile_bytes);
    return error_set(&host->problem, "%s: %s", grpc_status_name(status->code), status->message);
}

/* Waits before the next attempt; false when there should be none. */
static bool wait_to_retry(struct session *session, unsigned attempt)
{
    int64_t wait_ms = FIRST_RETRY_MS;
    while (attempt-- > 0 && wait_ms < MAX_RETRY_MS)
        wait_ms *= 2;
    int64_t until = clock_monotonic_ms() + wait_ms;
    if (until >= session->deadline_ms)
        return false;
    while (!is_ended(session) && clock_monotonic_ms() < until)
        usleep(20000);
    return !is_ended(session);
}

static void *run_host(void *context)
{
    struct worker *worker = context;
    struct session *session = worker->session;
    struct remote_host *host = &session->result->hosts.items[worker->index];
    char *path = path_format("%s/%s.xplane.pb", session->result->directory,
                             session->addresses.items[worker->index].name);
    for (unsigned attempt = 0;; attempt++) {
        struct call_status status = {0};
        host->problem = (struct error){0};
        if (try_host(worker, host, path, &status) || !is_worth_retrying(&status) ||
            attempt == session->options->retries || !wait_to_retry(session, attempt))
            break;
    }
    mem_free(path);
    pthread_mutex_lock(&session->lock);
    session->finished++;
    pthread_cond_signal(&session->changed);
    pthread_mutex_unlock(&session->lock);
    return NULL;
}

/* ---- The end on request -------------------------------------------------------------------- */

static void *terminate_host(void *context)
{
    const struct worker *worker = context;
    const struct session *session = worker->session;
    const struct remote_address *address = &session->addresses.items[worker->index];
    struct output message;
    struct call_status status;
    struct error ignored;
    output_memory(&message);
    terminate_put(&message, session->run);
    struct remote_call call = {.host = address->host,
                               .port = address->port,
                               .method = "Terminate",
                               .message = &message,
                               .timeout_ms = TERMINATE_MS};
    call_run(&call, &status, &ignored);
    output_discard(&message);
    return NULL;
}

/* Hosts that record send what they have. */
static void terminate_all(struct session *session, struct worker *workers)
{
    size_t count = session->addresses.count;
    pthread_t *threads = mem_zeroed(count, sizeof *threads);
    bool *is_started = mem_zeroed(count, sizeof *is_started);
    atomic_store(&session->ended_ms, clock_monotonic_ms());
    for (size_t i = 0; i < count; i++)
        is_started[i] = atomic_load(&workers[i].is_calling) &&
                        pthread_create(&threads[i], NULL, terminate_host, &workers[i]) == 0;
    for (size_t i = 0; i < count; i++)
        if (is_started[i])
            pthread_join(threads[i], NULL);
    mem_free(threads);
    mem_free(is_started);
}

/* ---- All hosts ----------------------------------------------------------------------------- */

static void start_workers(struct session *session, struct worker *workers)
{
    sigset_t all, before; /* signals are the caller's */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < session->addresses.count; i++) {
        workers[i].session = session;
        workers[i].index = i;
        workers[i].has_thread =
            pthread_create(&workers[i].thread, NULL, run_host, &workers[i]) == 0;
        if (workers[i].has_thread)
            continue;
        error_set(&session->result->hosts.items[i].problem, "cannot create a thread");
        pthread_mutex_lock(&session->lock);
        session->finished++;
        pthread_mutex_unlock(&session->lock);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool report(struct session *session, size_t finished)
{
    const struct remote_options *options = session->options;
    return !options->tick || options->tick(options->context, finished, session->addresses.count,
                                           atomic_load(&session->total.bytes));
}

static void wait_for_workers(struct session *session, struct worker *workers)
{
    pthread_mutex_lock(&session->lock);
    while (session->finished < session->addresses.count) {
        struct timespec until = clock_after_ms(TICK_MS);
        pthread_cond_clockwait(&session->changed, &session->lock, CLOCK_MONOTONIC, &until);
        size_t finished = session->finished;
        pthread_mutex_unlock(&session->lock);
        if (!report(session, finished) && !is_ended(session))
            terminate_all(session, workers);
        pthread_mutex_lock(&session->lock);
    }
    pthread_mutex_unlock(&session->lock);
}

static void run_workers(struct session *session)
{
    struct worker *workers = mem_zeroed(session->addresses.count, sizeof *workers);
    pthread_mutex_init(&session->lock, NULL);
    pthread_cond_init(&session->changed, NULL);
    start_workers(session, workers);
    wait_for_workers(session, workers);
    for (size_t i = 0; i < session->addresses.count; i++)
        if (workers[i].has_thread)
            pthread_join(workers[i].thread, NULL);
    pthread_cond_destroy(&session->changed);
    pthread_mutex_destroy(&session->lock);
    mem_free(workers);
}

/* ---- The session's directory --------------------------------------------------------------- */

/* A run is named by its time, as JAX does; a second one in a second gets a number. */
static bool make_run(struct session *session, struct error *err)
{
    char name[64];
    time_t now = time(NULL);
    struct tm date;
    const char *wanted = session->settings.session_id;
    gmtime_r(&now, &date);
    strftime(name, sizeof name, "%Y_%m_%d_%H_%M_%S", &date);
    for (unsigned i = 0; i < MAX_SAME_SECOND; i++) {
        char *run = wanted ? mem_copy_text(wanted, strlen(wanted))
                    : i    ? path_format("%s_%u", name, i)
                           : mem_copy_text(name, strlen(name));
        char *path = path_format("%s/%s", session->root, run);
        if (mkdir(path, 0777) == 0) {
            session->run = run;
            session->result->directory = path;
            return true;
        }
        int problem = errno;
        error_in_file(err, path, "cannot create directory: %s", strerror(problem));
        mem_free(run);
        mem_free(path);
        if (problem != EEXIST || wanted)
            return false;
    }
    return false;
}

/* Absolute, as it is also sent to servers that write files themselves. */
static bool make_session_directories(struct session *session, struct error *err)
{
    char *root = path_format("%s/plugins/profile", session->options->directory);
    char *absolute = make_directories(root, err) ? realpath(root, NULL) : NULL;
    if (absolute)
        session->root = mem_copy_text(absolute, strlen(absolute));
    free(absolute);
    mem_free(root);
    return session->root && make_run(session, err);
}

static void set_times(struct session *session)
{
    const struct remote_options *options = session->options;
    int64_t delay_ms = session->settings.delay_ms != SETTINGS_NO_DELAY ? session->settings.delay_ms
                       : session->addresses.count > 1                  ? DELAY_MS
                                                                       : 0;
    uint64_t timeout_ms = options->timeout_ms, duration_ms = options->duration_ms;
    if (timeout_ms == 0 && duration_ms < MAX_TIMEOUT_MS) /* collecting takes time as well */
        timeout_ms = (uint64_t)delay_ms + duration_ms +
                     (duration_ms > COLLECT_MS ? duration_ms : COLLECT_MS);
    if (timeout_ms == 0 || timeout_ms > MAX_TIMEOUT_MS)
        timeout_ms = MAX_TIMEOUT_MS;
    session->deadline_ms = clock_monotonic_ms() + (int64_t)timeout_ms;
    if (delay_ms > 0)
        session->start_ns = (uint64_t)(clock_wall_ms() + delay_ms) * 1000000;
}

static bool prepare(struct session *session, const struct remote_options *options,
                    struct error *err)
{
    *session = (struct session){.options = options, .ended_ms = NO_TIME};
    if (!settings_read(&session->settings, options->settings, options->setting_count, err))
        return false;
    session->total.max_bytes = session->settings.max_bytes;
    if (addresses_read(&session->addresses, options->addresses, session->settings.host_names, err))
        return true;
    settings_free(&session->settings);
    return false;
}

static void finish(struct session *session)
{
    addresses_free(&session->addresses);
    settings_free(&session->settings);
    mem_free(session->root);
    mem_free(session->run);
}

bool remote_check(const struct remote_options *options, struct error *err)
{
    struct session session;
    if (!prepare(&session, options, err))
        return false;
    finish(&session);
    return true;
}

/* Blocks until every host has answered or failed. The run's directory is removed when nothing is in
 * it. */
bool remote_capture(const struct remote_options *options, struct remote_session *result,
                    struct error *err)
{
    struct session session;
    struct remote_address *address;
    struct remote_host *host;
    *result = (struct remote_session){0};
    if (!prepare(&session, options, err))
        return false;
    session.result = result;
    if (!make_session_directories(&session, err)) {
        finish(&session);
        return false;
    }
    array_each (address, &session.addresses)
        *array_push(&result->hosts) =
            (struct remote_host){.address = mem_copy_text(address->given, strlen(address->given))};
    set_times(&session);
    run_workers(&session);
    array_each (host, &result->hosts)
        result->failed += !host->path;
    if (result->failed == result->hosts.count)
        rmdir(result->directory);
    finish(&session);
    return true;
}

void remote_session_free(struct remote_session *session)
{
    struct remote_host *host;
    array_each (host, &session->hosts) {
        mem_free(host->address);
        mem_free(host->path);
    }
    array_free(&session->hosts);
    mem_free(session->directory);
    session->directory = NULL;
}
