/*
 * The runtime's trace: who owns it, and the thread that fetches. The lock is held during our own
 * calls of the runtime, so that nrt_close, fork and exit wait for them.
 */
#include "capture/neuron/systrace.h"

#include "base/clock.h"
#include "capture/neuron/systrace_api.h"
#include "capture/neuron/taken.h"
#include "capture/recorder/lock.h"

#include <errno.h>
#include <nrt/nrt_sys_trace.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    RING_EVENTS = 1 << 18,  /* of a core, in the runtime's memory: a quarter of its default */
    FEWER_EVENTS = 1 << 12, /* where there is not enough memory for that */
    FETCH_EVENTS = 8192,    /* of a core, at once: bounds the size of the JSON */
    MOST_FETCHES = 128,     /* in a row, while the runtime has more */
    MOST_FAILURES = 3,      /* in a row; then the trace is given up */
    PAUSE_NS = 100000000,
    SHORT_PAUSE_NS = 10000000, /* after a fetch of many events */
};

static struct systrace_api api;
uint64_t systrace_types[EVENT_TYPE_WORDS];
bool systrace_is_due;
static void (*found_runtime)(void);

static struct {
    struct lock lock;
    pthread_cond_t wake;
    enum { IDLE, RUNNING, PROGRAM } state; /* PROGRAM: the trace is the program's */
    bool is_initialized, is_given_up, is_exiting, has_thread;
    bool is_inherited; /* a child of fork finds its parent's trace running */
    unsigned failures;
    nrt_sys_trace_fetch_options_t *options; /* NULL: none */
} trace = {.lock = LOCK_INITIALIZER};
static __thread bool is_inside __attribute__((tls_model("initial-exec"))); /* holds the lock */

static void enter(void)
{
    lock_take(&trace.lock);
    is_inside = true;
}

static void tell_calls(void)
{
    bool is_due =
        trace.state == IDLE && trace.is_initialized && !trace.is_given_up && !trace.is_exiting;
    __atomic_store_n(&systrace_is_due, is_due, __ATOMIC_RELAXED);
}

static void leave(void)
{
    tell_calls();
    is_inside = false;
    lock_release(&trace.lock);
}

static void leave_to_runtime(const uint64_t *types)
{
    for (size_t i = 0; i < EVENT_TYPE_WORDS; i++)
        __atomic_store_n(&systrace_types[i], types[i], __ATOMIC_RELAXED);
}

static void give_up(const char *what, NRT_STATUS status)
{
    call_warn("%s: status %d; the runtime's own events are not recorded, calls are", what,
              (int)status);
    trace.is_given_up = true;
}

/* ---- Fetching ------------------------------------------------------------------------------ */

/* One fetch; false when another is pointless. *events: how many came. */
static bool fetch(uint64_t *events)
{
    static const char function[] = "nrt_sys_trace_fetch_events";
    char *buffer = NULL;
    size_t size = 0;
    struct fetched found = {0};
    NRT_STATUS status = api.fetch_events(&buffer, &size, trace.options);
    if (status != NRT_SUCCESS || !buffer) {
        if (++trace.failures == MOST_FAILURES)
            give_up(function, status);
        return false;
    }
    taken_record(buffer, size, &found);
    api.buffer_free(buffer);
    *events = found.events + found.non_events;
    trace.failures = found.problem ? trace.failures + 1 : 0;
    if (found.problem)
        call_warn("%s: malformed JSON at byte %zu: %s", function, found.offset, found.problem);
    if (trace.failures >= MOST_FAILURES && !trace.is_given_up)
        give_up(function, status);
    return !found.problem;
}

/* Fetches what the runtime has; returns whether that was much. */
static bool fetch_all(void)
{
    uint64_t events = FETCH_EVENTS, all = 0;
    for (int i = 0; i < MOST_FETCHES && events >= FETCH_EVENTS; i++) {
        events = 0;
        if (!fetch(&events))
            break;
        all += events;
    }
    return all >= FETCH_EVENTS;
}

/* ---- Start and stop ------------------------------------------------------------------------ */

static void end_trace(void)
{
    static const uint64_t none[EVENT_TYPE_WORDS];
    leave_to_runtime(none);
    api.stop();
    if (trace.options)
        api.fetch_options_free(trace.options);
    trace.options = NULL;
    trace.state = IDLE;
}

/* Fetches the rest and ends the trace; false when it was not running. */
static bool pause_trace(void)
{
    if (trace.state != RUNNING)
        return false;
    fetch_all();
    end_trace();
    return true;
}

static void end_with_program(void);

/* Handlers registered here run before the runtime's own, which it registered earlier. */
static void watch_exit(void)
{
    static bool is_watching;
    if (is_watching)
        return;
    is_watching = true;
    systrace_api_pin(&api);
    atexit(end_with_program);
}

/* Calls that other threads begin meanwhile are left to the runtime, which may miss them. */
static void start_trace(void)
{
    uint64_t types[EVENT_TYPE_WORDS];
    if (trace.state != IDLE || !trace.is_initialized || trace.is_given_up || trace.is_exiting ||
        !kymo_wants(1))
        return;
    if (!systrace_api_find(&api)) {
        trace.is_given_up = true; /* a runtime that has no trace */
        return;
    }
    if (trace.is_inherited)
        api.stop();
    trace.is_inherited = false;
    systrace_api_types(&api, types);
    leave_to_runtime(types);
    taken_begin(types);
    NRT_STATUS status = systrace_api_start(&api, RING_EVENTS);
    if (status == NRT_RESOURCE)
        status = systrace_api_start(&api, FEWER_EVENTS);
    if (status != NRT_SUCCESS) {
        memset(types, 0, sizeof types);
        leave_to_runtime(types);
        give_up("nrt_sys_trace_start", status);
        return;
    }
    if (api.fetch_options_allocate && api.fetch_options_allocate(&trace.options) == NRT_SUCCESS)
        api.fetch_options_set_max_events_per_nc(trace.options, FETCH_EVENTS);
    trace.state = RUNNING;
    trace.failures = 0;
    fetch_all(); /* anything the runtime sets up for this is torn down after end_with_program */
    watch_exit();
}

static void wait_for(int64_t pause_ns)
{
    struct timespec when = clock_after_ns(pause_ns);
    is_inside = false;
    pthread_cond_timedwait(&trace.wake, &trace.lock.mutex, &when);
    is_inside = true;
}

/* Nothing disturbs this thread: it takes the mutex alone. */
static void *fetch_regularly(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&trace.lock.mutex);
    is_inside = true;
    while (trace.state == RUNNING) {
        if (!kymo_wants(1) || trace.is_given_up) {
            end_trace();
            break;
        }
        bool was_much = fetch_all();
        if (!trace.is_given_up)
            wait_for(was_much ? SHORT_PAUSE_NS : PAUSE_NS);
    }
    trace.has_thread = false;
    tell_calls();
    is_inside = false;
    pthread_mutex_unlock(&trace.lock.mutex);
    return NULL;
}

/* The lock is held: all signals but those of faults are blocked, also for the thread. */
static void start_thread(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (trace.has_thread)
        return;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    trace.has_thread = pthread_create(&thread, &attributes, fetch_regularly, NULL) == 0;
    pthread_attr_destroy(&attributes);
    if (!trace.has_thread && trace.state == RUNNING)
        end_trace();
    trace.is_given_up |= !trace.has_thread;
}

static void resume_trace(void)
{
    start_trace();
    if (trace.state == RUNNING)
        start_thread();
}

void systrace_initialized(NRT_STATUS status)
{
    if (status != NRT_SUCCESS || is_inside || call_is_to_own_runtime())
        return;
    static bool is_found;
    if (!__atomic_exchange_n(&is_found, true, __ATOMIC_RELAXED))
        found_runtime();
    enter();
    trace.is_initialized = true;
    trace.is_given_up = false;
    resume_trace();
    leave();
}

void systrace_catch_up(void)
{
    if (is_inside) /* the runtime's own call of one of its functions */
        return;
    enter();
    resume_trace();
    leave();
}

void systrace_close(void)
{
    if (is_inside)
        return;
    enter();
    pause_trace();
    trace.is_initialized = false;
    pthread_cond_signal(&trace.wake);
    leave();
}

static void end_with_capture(void)
{
    if (is_inside)
        return;
    enter();
    pause_trace();
    taken_end();
    pthread_cond_signal(&trace.wake);
    leave();
}

/* The program fetches no more: the rest of its own trace is recorded, too. */
static void end_with_program(void)
{
    if (is_inside) /* the runtime called exit */
        return;
    enter();
    trace.is_exiting = true;
    if (trace.state == PROGRAM && trace.is_initialized && kymo_wants(1))
        fetch_all();
    pause_trace();
    pthread_cond_signal(&trace.wake);
    leave();
}

/* ---- With the process ---------------------------------------------------------------------- */

static void make_condition(void)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&trace.wake, &clock);
    pthread_condattr_destroy(&clock);
}

void systrace_prepare(void (*found)(void))
{
    found_runtime = found;
    make_condition();
    kymo_before_stop(end_with_capture);
}

void systrace_lock(void)
{
    lock_take(&trace.lock);
}

void systrace_unlock(void)
{
    lock_release(&trace.lock);
}

void systrace_forked(void)
{
    static const uint64_t none[EVENT_TYPE_WORDS];
    make_condition();
    trace.has_thread = trace.is_initialized = false;
    if (trace.state == RUNNING) {
        trace.state = IDLE;
        trace.is_inherited = true;
        leave_to_runtime(none);
    }
    tell_calls();
    taken_end();
}

/* ---- The program's own trace --------------------------------------------------------------- */

#define INTERPOSE __attribute__((visibility("default")))

/* The runtime has one trace: ours is stopped first, and resumed if the program's cannot start.
 * errno is the runtime's. */
INTERPOSE NRT_STATUS nrt_sys_trace_start(nrt_sys_trace_config_t *options)
{
    static void *slot;
    NRT_STATUS (*start)(nrt_sys_trace_config_t *) =
        (NRT_STATUS (*)(nrt_sys_trace_config_t *))call_find(&slot, __func__);
    if (!start)
        return NRT_FAILURE;
    if (call_is_to_own_runtime() || is_inside)
        return start(options);
    static const uint64_t none[EVENT_TYPE_WORDS];
    enter();
    bool was_running = pause_trace();
    NRT_STATUS status = start(options);
    int problem = errno;
    if (status == NRT_SUCCESS) {
        trace.state = PROGRAM;
        taken_begin(none);
        if (systrace_api_find(&api))
            watch_exit();
    } else if (was_running) {
        resume_trace();
    }
    pthread_cond_signal(&trace.wake);
    leave();
    errno = problem;
    return status;
}

INTERPOSE NRT_STATUS nrt_sys_trace_stop(void)
{
    static void *slot;
    NRT_STATUS (*stop)(void) = (NRT_STATUS (*)(void))call_find(&slot, __func__);
    if (!stop)
        return NRT_FAILURE;
    if (call_is_to_own_runtime() || is_inside)
        return stop();
    enter();
    bool is_program = trace.state == PROGRAM, was_running = pause_trace();
    if (is_program && kymo_wants(1) && systrace_api_find(&api))
        fetch_all(); /* events that the program discards */
    NRT_STATUS status = stop();
    int problem = errno;
    if (is_program && status == NRT_SUCCESS)
        trace.state = IDLE;
    if (is_program || was_running)
        resume_trace();
    leave();
    errno = problem;
    return status;
}

INTERPOSE NRT_STATUS nrt_sys_trace_fetch_events(char **buffer, size_t *written_size,
                                                const nrt_sys_trace_fetch_options_t *options)
{
    static void *slot;
    __typeof__(api.fetch_events) fetch_events =
        (__typeof__(api.fetch_events))call_find(&slot, __func__);
    if (!fetch_events)
        return NRT_FAILURE;
    if (call_is_to_own_runtime() || is_inside)
        return fetch_events(buffer, written_size, options);
    enter();
    bool was_running = pause_trace(); /* the program has no trace, and is told so */
    NRT_STATUS status = fetch_events(buffer, written_size, options);
    int problem = errno;
    if (was_running)
        resume_trace();
    else if (status == NRT_SUCCESS && kymo_wants(1) && buffer && *buffer && written_size) {
        struct fetched found;
        taken_record(*buffer, *written_size, &found);
    }
    leave();
    errno = problem;
    return status;
}
