/*
 * Samples: the stacks of all threads, from time to time, as a cheap picture of long runs. A thread
 * of its own takes them whenever it gets the interpreter's lock, for which it waits up to the
 * switch interval, 5 ms; at rates for which that is too long, the interval is made shorter. From
 * 3.13 on the main thread is asked first to take the sample between two of its instructions, which
 * it does at once if it runs Python code.
 *
 * Each thread has a lane. A function that is at the same place of the stack in successive samples
 * is one range, from the first of them to the one that no longer has it.
 */
#include "capture/python/frames.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { MOST_DEPTH = 512, LANE_NAME = 64, NS_PER_S = 1000000000, GRACE_NS = 400000 };

/* A function of a stack, outermost first. */
struct sampled {
    const void *code; /* which the table of callees keeps alive */
    uint32_t type;
    int64_t samples;
};

struct sampled_thread {
    unsigned long ident;
    uint64_t native; /* idents are reused once their thread has ended */
    struct kymo_lane *lane;
    bool is_named;
    struct sampled *stack;
    size_t depth;
    uint64_t seen; /* the last sample that had it */
    struct sampled_thread *next;
};

static struct {
    /* Under the interpreter's lock. */
    bool is_on, is_taking;
    double switch_interval; /* in seconds: the program's, to be restored; 0 when it was kept */
    struct callees callees;
    struct sampled_thread *threads;
    uint64_t samples;
    PyFrameObject **frames; /* of a stack, innermost first */
    size_t capacity;
    /* Shared with the thread. */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int64_t period_ns;
    bool asks_main; /* earlier versions only look at calls from their own thread soon */
    bool is_asked;  /* a sample, of whoever gets there first */
    bool is_queued; /* a call that the main thread has not made yet */
    bool is_ending;
} sampler = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- Ranges -------------------------------------------------------------------------------- */

static void begin_range(const struct sampled_thread *thread, const struct sampled *sampled,
                        uint64_t ticks)
{
    const struct kymo_lane_event event = {
        .type = sampled->type, .core = KYMO_NO_CORE, .kind = KYMO_KIND_BEGIN, .ticks = ticks};
    kymo_lane_record(thread->lane, &event, NULL, 0);
}

static void end_range(const struct sampled_thread *thread, const struct sampled *sampled,
                      uint64_t ticks)
{
    const struct kymo_lane_event event = {
        .type = sampled->type, .core = KYMO_NO_CORE, .kind = KYMO_KIND_END, .ticks = ticks};
    const struct kymo_arg arg = kymo_int("samples", sampled->samples);
    kymo_lane_record(thread->lane, &event, &arg, 1);
}

static void end_ranges(struct sampled_thread *thread, size_t depth, uint64_t ticks)
{
    while (thread->depth > depth)
        end_range(thread, &thread->stack[--thread->depth], ticks);
}

/* ---- Stacks -------------------------------------------------------------------------------- */

/* Opens its lane, or names it: a new thread has no name yet. */
static bool name_lane(struct sampled_thread *thread)
{
    char name[LANE_NAME], whole[2 * LANE_NAME];
    bool is_named = python_thread_name(name, sizeof name, thread->ident);
    snprintf(whole, sizeof whole, "samples of %s", name);
    if (!thread->lane)
        thread->lane = kymo_lane_open_thread(whole, thread->native, 0);
    else if (is_named)
        kymo_lane_name(thread->lane, whole);
    thread->is_named = is_named;
    return thread->lane;
}

static struct sampled_thread *add_thread(struct sampled_thread **place, unsigned long ident,
                                         uint64_t native)
{
    struct sampled_thread *thread = calloc(1, sizeof *thread);
    struct sampled *stack = calloc(MOST_DEPTH, sizeof *stack);
    if (thread)
        *thread = (struct sampled_thread){
            .ident = ident, .native = native, .stack = stack, .next = *place};
    if (!thread || !stack || !name_lane(thread)) {
        free(thread);
        free(stack);
        return NULL;
    }
    return *place = thread;
}

static struct sampled_thread **find_from(struct sampled_thread **place, unsigned long ident,
                                         uint64_t native)
{
    while (*place && ((*place)->ident != ident || (*place)->native != native))
        place = &(*place)->next;
    return place;
}

/* The interpreter lists threads in the same order each time: the search begins where the last one
 * ended, and *place is where that is. */
static struct sampled_thread *find_thread(struct sampled_thread ***place, unsigned long ident)
{
    uint64_t native = python_thread_native(ident);
    struct sampled_thread **found = find_from(*place, ident, native);
    found = *found ? found : find_from(&sampler.threads, ident, native);
    struct sampled_thread *thread = *found ? *found : add_thread(*place, ident, native);
    if (thread)
        *place = &thread->next;
    return thread;
}

static void remove_thread(struct sampled_thread **place)
{
    struct sampled_thread *thread = *place;
    *place = thread->next;
    kymo_lane_close(thread->lane);
    free(thread->stack);
    free(thread);
}

/* The frames of a stack, innermost first; each is the caller's. */
static size_t list_frames(PyFrameObject *frame)
{
    size_t count = 0;
    Py_INCREF(frame);
    while (frame) {
        if (count == sampler.capacity) {
            size_t capacity = 2 * count + 256;
            void *frames = realloc(sampler.frames, capacity * sizeof *sampler.frames);
            if (!frames) {
                Py_DECREF(frame);
                break;
            }
            sampler.frames = frames;
            sampler.capacity = capacity;
        }
        sampler.frames[count++] = frame;
        frame = PyFrame_GetBack(frame);
    }
    return count;
}

static uint32_t type_of(PyFrameObject *frame, PyObject *code)
{
    const struct callee *callee = callees_find(&sampler.callees, code);
    if (callee)
        return callee->type;
    PyObject *globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
    callee = callees_add_code(&sampler.callees, code, globals);
    Py_XDECREF(globals);
    return callee ? callee->type : 0;
}

/* Functions that are still at their place go on, the others end, and new ones begin. */
static void compare(struct sampled_thread *thread, size_t count, uint64_t ticks)
{
    size_t depth = count < MOST_DEPTH ? count : MOST_DEPTH;
    bool is_same = true;
    for (size_t i = 0; i < depth; i++) {
        PyFrameObject *frame = sampler.frames[count - 1 - i];
        PyObject *code = (PyObject *)PyFrame_GetCode(frame);
        struct sampled *sampled = &thread->stack[i];
        is_same = is_same && i < thread->depth && sampled->code == code;
        if (!is_same) {
            end_ranges(thread, i, ticks);
            *sampled = (struct sampled){.code = code, .type = type_of(frame, code)};
            thread->depth = i + 1;
            begin_range(thread, sampled, ticks);
        }
        sampled->samples++;
        Py_DECREF(code);
    }
    end_ranges(thread, depth, ticks);
}

static void sample_thread(struct sampled_thread *thread, PyFrameObject *frame, uint64_t ticks)
{
    size_t count = list_frames(frame);
    thread->seen = sampler.samples;
    if (!thread->is_named)
        name_lane(thread);
    compare(thread, count, ticks);
    for (size_t i = 0; i < count; i++)
        Py_DECREF(sampler.frames[i]);
}

static void remove_unseen(uint64_t ticks)
{
    for (struct sampled_thread **place = &sampler.threads; *place;) {
        if ((*place)->seen == sampler.samples) {
            place = &(*place)->next;
            continue;
        }
        end_ranges(*place, 0, ticks);
        remove_thread(place);
    }
}

/* With the interpreter's lock. A table that has no room for a code object cannot keep it alive; its
 * ranges then have no name. */
static void take_sample(void)
{
    uint64_t ticks = kymo_ticks();
    PyObject *function = PySys_GetObject("_current_frames"), *ident, *frame;
    PyObject *frames = ticks && function ? PyObject_CallObject(function, NULL) : NULL;
    Py_ssize_t at = 0;
    struct sampled_thread **place = &sampler.threads;
    sampler.samples++;
    while (frames && PyDict_Next(frames, &at, &ident, &frame)) {
        struct sampled_thread *thread = find_thread(&place, PyLong_AsUnsignedLong(ident));
        if (thread)
            sample_thread(thread, (PyFrameObject *)frame, ticks);
    }
    if (frames)
        remove_unseen(ticks);
    Py_XDECREF(frames);
    PyErr_Clear();
}

/* ---- Who takes them ------------------------------------------------------------------------ */

/* With the interpreter's lock, so that one of the two does it. */
static void take_if_asked(void)
{
    pthread_mutex_lock(&sampler.mutex);
    bool is_asked = sampler.is_asked && !sampler.is_ending;
    sampler.is_asked = false;
    pthread_mutex_unlock(&sampler.mutex);
    /* The garbage collector may run code of the program in between, and pass the lock on. */
    if (!is_asked || sampler.is_taking)
        return;
    sampler.is_taking = true;
    take_sample();
    sampler.is_taking = false;
}

/* In the main thread. */
static int on_pending_call(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&sampler.mutex);
    sampler.is_queued = false;
    pthread_cond_signal(&sampler.changed);
    pthread_mutex_unlock(&sampler.mutex);
    take_if_asked();
    return 0;
}

/* Until then, or the end, or until the main thread has made its call; the mutex is held. */
static void wait_until(int64_t ns, bool for_call)
{
    const struct timespec until = clock_timespec(ns);
    int problem = 0;
    while (!sampler.is_ending && problem != ETIMEDOUT && (!for_call || sampler.is_queued))
        problem = pthread_cond_timedwait(&sampler.changed, &sampler.mutex, &until);
}

/* Asks the main thread, and waits a little for its answer; false when there was none. The mutex is
 * held. */
static bool ask_main_thread(void)
{
    int64_t grace_ns = sampler.period_ns / 2 < GRACE_NS ? sampler.period_ns / 2 : GRACE_NS;
    sampler.is_asked = true;
    if (!sampler.asks_main)
        return false;
    if (!sampler.is_queued) {
        sampler.is_queued = true;
        if (Py_AddPendingCall(on_pending_call, NULL) < 0)
            sampler.is_queued = false;
    }
    if (!sampler.is_queued)
        return false;
    wait_until(clock_monotonic_ns() + grace_ns, true);
    return !sampler.is_queued;
}

/* Sleeps without the interpreter's lock, and takes it only when the main thread did not take the
 * sample. Samples that are late are skipped, not made up for. */
static void *run(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "kymo-samples");
    PyGILState_STATE before = PyGILState_Ensure();
    PyThreadState *state = PyEval_SaveThread();
    int64_t next_ns = clock_monotonic_ns();
    pthread_mutex_lock(&sampler.mutex);
    while (!sampler.is_ending) {
        int64_t now = clock_monotonic_ns();
        next_ns = next_ns + sampler.period_ns > now ? next_ns + sampler.period_ns : now;
        wait_until(next_ns, false);
        if (sampler.is_ending || ask_main_thread() || sampler.is_ending)
            continue;
        pthread_mutex_unlock(&sampler.mutex);
        PyEval_RestoreThread(state);
        take_if_asked();
        state = PyEval_SaveThread();
        pthread_mutex_lock(&sampler.mutex);
    }
    pthread_mutex_unlock(&sampler.mutex);
    PyEval_RestoreThread(state);
    PyGILState_Release(before);
    return NULL;
}

/* Signals are for the program's threads. */
static int start_thread(void)
{
    sigset_t all, before;
    sigfillset(&all);
    sampler.is_asked = sampler.is_ending = false;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int problem = pthread_create(&sampler.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return problem;
}

/* ---- fork ---------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&sampler.mutex);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&sampler.mutex);
}

static void make_condition(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sampler.changed, &monotonic);
}

/* The samples are the parent's. */
static void after_fork_in_child(void)
{
    sampler.is_queued = sampler.is_taking = false;
    while (sampler.threads)
        remove_thread(&sampler.threads);
    make_condition(); /* the thread that waits is not here */
    pthread_mutex_unlock(&sampler.mutex);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void)
{
    make_condition();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Once the interpreter of the child is ready. */
static PyObject *go_on_in_child(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (sampler.is_on && start_thread() != 0)
        sampler.is_on = false;
    Py_RETURN_NONE;
}

static PyMethodDef child_method = {"sample_in_child", go_on_in_child, METH_NOARGS, NULL};

static bool watch_forks(void)
{
    static bool is_watching;
    if (is_watching)
        return true;
    PyObject *os = PyImport_ImportModule("os");
    PyObject *method = os ? PyObject_GetAttrString(os, "register_at_fork") : NULL;
    PyObject *function = PyCFunction_NewEx(&child_method, NULL, NULL);
    PyObject *none = PyTuple_New(0);
    PyObject *named = function ? Py_BuildValue("{sO}", "after_in_child", function) : NULL;
    PyObject *result = method && none && named ? PyObject_Call(method, none, named) : NULL;
    is_watching = result;
    Py_XDECREF(os);
    Py_XDECREF(method);
    Py_XDECREF(function);
    Py_XDECREF(none);
    Py_XDECREF(named);
    Py_XDECREF(result);
    return is_watching;
}

/* ---- The switch interval ------------------------------------------------------------------- */

/* In seconds; 0 when it cannot be read. */
static double switch_interval(void)
{
    PyObject *function = PySys_GetObject("getswitchinterval");
    PyObject *value = function ? PyObject_CallObject(function, NULL) : NULL;
    double seconds = value ? PyFloat_AsDouble(value) : 0;
    Py_XDECREF(value);
    PyErr_Clear();
    return seconds;
}

static void set_switch_interval(double seconds)
{
    PyObject *function = PySys_GetObject("setswitchinterval");
    PyObject *result = function ? PyObject_CallFunction(function, "d", seconds) : NULL;
    Py_XDECREF(result);
    PyErr_Clear();
}

static double wanted_interval(void)
{
    return (double)sampler.period_ns / NS_PER_S / 4;
}

static void shorten_interval(void)
{
    double own = switch_interval();
    bool is_long = own > 2 * wanted_interval();
    sampler.switch_interval = is_long ? own : 0;
    if (is_long)
        set_switch_interval(wanted_interval());
}

/* Unless the program has set another one. */
static void restore_interval(void)
{
    double off = switch_interval() / wanted_interval() - 1;
    if (sampler.switch_interval > 0 && off > -0.01 && off < 0.01)
        set_switch_interval(sampler.switch_interval);
}

static bool is_at_least(long version)
{
    PyObject *own = PySys_GetObject("hexversion");
    return own && PyLong_AsLong(own) >= version;
}

/* ---- Functions of the module --------------------------------------------------------------- */

/* The interpreter's lock is held. is_on is set last; on failure nothing is left running. */
PyObject *sample_stacks(PyObject *module, PyObject *args, PyObject *named)
{
    (void)module;
    static char *names[] = {"hz", NULL};
    double hz = 100;
    if (!PyArg_ParseTupleAndKeywords(args, named, "|d:sample_stacks", names, &hz))
        return NULL;
    if (!(hz > 0 && hz <= 1000)) {
        PyErr_SetString(PyExc_ValueError, "hz must be more than 0 and at most 1000");
        return NULL;
    }
    if (sampler.is_on || !kymo_ticks()) {
        PyErr_SetString(PyExc_RuntimeError,
                        sampler.is_on ? "stacks are sampled already" : "no capture is running");
        return NULL;
    }
    pthread_once(&once, prepare);
    if (!watch_forks() || !ends_with_interpreter() || !callees_start(&sampler.callees, NULL))
        return NULL;
    sampler.period_ns = (int64_t)(NS_PER_S / hz);
    sampler.asks_main = is_at_least(0x030D0000);
    int problem = start_thread();
    if (problem != 0) {
        callees_stop(&sampler.callees);
        errno = problem;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    shorten_interval();
    sampler.is_on = true;
    Py_RETURN_NONE;
}

static void end_thread(void)
{
    pthread_mutex_lock(&sampler.mutex);
    sampler.is_ending = true;
    pthread_cond_signal(&sampler.changed);
    pthread_mutex_unlock(&sampler.mutex);
    pthread_join(sampler.thread, NULL);
}

PyObject *stop_samples(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (!sampler.is_on)
        Py_RETURN_NONE;
    sampler.is_on = false;
    Py_BEGIN_ALLOW_THREADS;
    end_thread();
    Py_END_ALLOW_THREADS;
    restore_interval();
    uint64_t ticks = kymo_ticks();
    while (sampler.threads) {
        end_ranges(sampler.threads, 0, ticks);
        remove_thread(&sampler.threads);
    }
    callees_stop(&sampler.callees);
    free(sampler.frames);
    sampler.frames = NULL;
    sampler.capacity = 0;
    Py_RETURN_NONE;
}
