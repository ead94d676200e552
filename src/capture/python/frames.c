/*
 * Frames: the threads that are traced, and the calls that are open in them.
 */
#include "capture/python/frames.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_CALLS = 256, MOST_CALLS = 1 << 20, LANE_NAME = 64, NAMING_CALLS = 64 };

__thread struct traced_mine traced_mine;
uint64_t traced_generation = 1;
uint64_t traced_least;
struct callees traced_callees;

/* The list is changed under the mutex, as a thread that ends does not hold the interpreter's lock.
 */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct traced_thread *threads;
static pthread_key_t thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct traced_thread *new_thread(struct traced_thread **list, unsigned long ident)
{
    struct traced_thread *thread = calloc(1, sizeof *thread);
    struct traced_call *stack = calloc(FIRST_CALLS, sizeof *stack);
    if (!thread || !stack) {
        free(thread);
        free(stack);
        return NULL;
    }
    thread->stack = stack;
    thread->capacity = FIRST_CALLS;
    thread->ident = ident;
    thread->unnamed = NAMING_CALLS;
    thread->next = *list;
    thread->link = list;
    if (*list)
        (*list)->link = &thread->next;
    *list = thread;
    return thread;
}

/* The mutex is held, or the list nobody else's. */
static void free_thread(struct traced_thread *thread)
{
    *thread->link = thread->next;
    if (thread->next)
        thread->next->link = thread->link;
    kymo_lane_close(thread->lane);
    free(thread->stack);
    free(thread);
}

static void end_thread(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    if (traced_mine.generation == traced_generation && traced_mine.thread)
        free_thread(traced_mine.thread);
    traced_mine.thread = NULL;
    traced_mine.generation = 0;
    pthread_mutex_unlock(&mutex);
}

static void before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&mutex);
}

/* The child has one thread, and a capture of its own; what is open in it began with it. */
static void after_fork_in_child(void)
{
    bool is_mine = traced_mine.generation == traced_generation;
    for (struct traced_thread *thread = threads, *next; thread; thread = next) {
        next = thread->next;
        if (is_mine && thread == traced_mine.thread) {
            kymo_lane_close(thread->lane);
            thread->lane = NULL;
            thread->native = 0;
        } else {
            free_thread(thread);
        }
    }
    pthread_mutex_unlock(&mutex);
}

static void prepare(void)
{
    pthread_key_create(&thread_end, end_thread);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* ---- Calls --------------------------------------------------------------------------------- */

void traced_grow(struct traced_thread *thread, const struct traced_call *call)
{
    struct traced_call *stack = NULL;
    if (thread->capacity < MOST_CALLS && thread->beyond == 0)
        stack = realloc(thread->stack, 2 * thread->capacity * sizeof *stack);
    if (!stack) {
        thread->beyond++;
        return;
    }
    thread->stack = stack;
    thread->capacity *= 2;
    thread->stack[thread->depth++] = *call;
}

/* The object of a thread in the module threading, borrowed; NULL when it is not one of its. */
static PyObject *thread_object(unsigned long ident)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "threading");
    PyObject *active = module ? PyObject_GetAttrString(module, "_active") : NULL;
    PyObject *key = PyLong_FromUnsignedLong(ident);
    PyObject *thread = active && key && PyDict_Check(active) ? PyDict_GetItem(active, key) : NULL;
    Py_XDECREF(active);
    Py_XDECREF(key);
    PyErr_Clear();
    return thread;
}

/* Reads plain attributes only: no code of the program runs. */
bool python_thread_name(char *name, size_t size, unsigned long ident)
{
    PyObject *thread = thread_object(ident);
    PyObject *text = thread ? PyObject_GetAttrString(thread, "_name") : NULL;
    const char *bytes = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    bool is_own = ident == PyThread_get_thread_ident();
    if (!bytes && ident == python_main_ident) /* threading may not be there */
        bytes = "MainThread";
    if (bytes)
        snprintf(name, size, "%s", bytes);
    else if (is_own)
        prctl(PR_GET_NAME, name);
    else
        snprintf(name, size, "thread %lu", ident);
    Py_XDECREF(text);
    PyErr_Clear();
    return bytes;
}

uint64_t python_thread_native(unsigned long ident)
{
    if (ident == PyThread_get_thread_ident())
        return (uint64_t)syscall(SYS_gettid);
    if (ident == python_main_ident)
        return (uint64_t)getpid();
    PyObject *thread = thread_object(ident);
    PyObject *id = thread ? PyObject_GetAttrString(thread, "_native_id") : NULL;
    unsigned long long native = id && PyLong_Check(id) ? PyLong_AsUnsignedLongLong(id) : 0;
    Py_XDECREF(id);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return native;
}

static bool open_lane(struct traced_thread *thread)
{
    char name[LANE_NAME] = "";
    PyObject *error, *value, *traceback;
    PyErr_Fetch(&error, &value, &traceback);
    if (python_thread_name(name, sizeof name, thread->ident))
        thread->unnamed = 0;
    if (thread->native == 0)
        thread->native = python_thread_native(thread->ident);
    PyErr_Restore(error, value, traceback);
    thread->lane = kymo_lane_open_thread(name, thread->native, 1);
    thread->is_refused = !thread->lane;
    return thread->lane;
}

/* A new thread has a name after some calls of its own. */
static void name_lane(struct traced_thread *thread)
{
    char name[LANE_NAME] = "";
    PyObject *error, *value, *traceback;
    PyErr_Fetch(&error, &value, &traceback);
    thread->unnamed--;
    if (python_thread_name(name, sizeof name, thread->ident)) {
        kymo_lane_name(thread->lane, name);
        thread->unnamed = 0;
    }
    PyErr_Restore(error, value, traceback);
}

void traced_record(struct traced_thread *thread, const struct traced_call *call, uint64_t end)
{
    if (call->type == 0 || end == 0)
        return;
    if (!thread->lane && (thread->is_refused || !open_lane(thread)))
        return;
    if (__builtin_expect(thread->unnamed > 0, 0))
        name_lane(thread);
    kymo_range(thread->lane, call->type, capture_since(call->begin), end);
}

/* Whether threads have several stacks. */
static bool has_greenlets(void)
{
    return PyDict_GetItemString(PyImport_GetModuleDict(), "greenlet") != NULL;
}

static void leave_at(struct traced_thread *thread, size_t place, uint64_t end)
{
    if (has_greenlets()) { /* those above go on later */
        struct traced_call call = thread->stack[place];
        memmove(&thread->stack[place], &thread->stack[place + 1],
                (thread->depth - place - 1) * sizeof call);
        thread->depth--;
        if (end - call.begin >= traced_least)
            traced_record(thread, &call, end);
        return;
    }
    while (thread->depth > place) { /* those above have ended, too */
        const struct traced_call *call = &thread->stack[--thread->depth];
        if (end - call->begin >= traced_least)
            traced_record(thread, call, end);
    }
}

void traced_leave_outer(struct traced_thread *thread, const void *key, uint64_t end)
{
    if (thread->beyond > 0) {
        thread->beyond--;
        return;
    }
    for (size_t i = thread->depth; i-- > 0;)
        if (thread->stack[i].key == key) {
            leave_at(thread, i, end);
            return;
        }
}

/* ---- Threads ------------------------------------------------------------------------------- */

/* The calls that are already open begin at `begin`. Exceptions while frames are read are dropped:
 * tracing must not raise in the program. */
static void push_open(struct traced_thread *thread, PyFrameObject *frame, uint64_t begin)
{
    size_t before = thread->depth;
    Py_XINCREF(frame);
    while (frame) {
        PyObject *code = (PyObject *)PyFrame_GetCode(frame);
        PyObject *globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
        const struct callee *callee = callees_code(&traced_callees, code, globals);
        struct traced_call call = {code, begin, callee ? callee->type : 0};
        if (thread->depth < thread->capacity)
            thread->stack[thread->depth++] = call;
        else
            traced_grow(thread, &call);
        Py_XDECREF(globals);
        Py_DECREF(code);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    thread->beyond = 0;
    /* The innermost came first. */
    for (size_t i = before, j = thread->depth; i + 1 < j; i++, j--) {
        struct traced_call call = thread->stack[i];
        thread->stack[i] = thread->stack[j - 1];
        thread->stack[j - 1] = call;
    }
    PyErr_Clear();
}

/* Runs in the thread itself. Python reuses idents, so an entry that was made ahead is taken only if
 * the system's id agrees. A pending exception of the program survives. */
struct traced_thread *traced_adopt(PyFrameObject *frame)
{
    unsigned long ident = PyThread_get_thread_ident();
    uint64_t native = (uint64_t)syscall(SYS_gettid);
    struct traced_thread *thread;
    pthread_mutex_lock(&mutex);
    for (thread = threads; thread; thread = thread->next)
        if (!thread->is_adopted && thread->ident == ident &&
            (thread->native == 0 || thread->native == native))
            break;
    bool is_new = !thread;
    if (is_new)
        thread = new_thread(&threads, ident);
    if (thread) {
        thread->is_adopted = true;
        thread->native = native;
        traced_mine.thread = thread;
        traced_mine.generation = traced_generation;
    }
    pthread_mutex_unlock(&mutex);
    pthread_setspecific(thread_end, &traced_mine);
    if (thread && is_new && frame) {
        PyObject *error, *value, *traceback;
        PyErr_Fetch(&error, &value, &traceback);
        push_open(thread, frame, kymo_ticks());
        PyErr_Restore(error, value, traceback);
    }
    return thread;
}

/* Ticks of a duration, as the clock runs now. */
static uint64_t ticks_of(double us)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    if (us <= 0)
        return 0;
    int64_t first_ns = clock_monotonic_ns();
    uint64_t begin = kymo_ticks();
    nanosleep(&pause, NULL);
    double passed_us = (double)(clock_monotonic_ns() - first_ns) / 1e3;
    uint64_t end = kymo_ticks();
    double ticks = us * (double)(end - begin) / passed_us;
    return ticks < 9e18 ? (uint64_t)ticks : UINT64_MAX / 2;
}

/* Returns the list of before, which is the caller's then. The interpreter's lock may pass to
 * another thread while stacks are read: the mutex must not be held then. */
static struct traced_thread *exchange_list(struct traced_thread *list)
{
    pthread_mutex_lock(&mutex);
    struct traced_thread *before = threads;
    traced_generation++;
    threads = list;
    if (threads)
        threads->link = &threads;
    pthread_mutex_unlock(&mutex);
    return before;
}

static void free_list(struct traced_thread *list)
{
    while (list) {
        list->link = &list;
        free_thread(list);
    }
}

/* Threads may have been adopted already: those that are new since the hooks were prepared, or while
 * an earlier start failed. */
bool traced_start(double least_us)
{
    pthread_once(&once, prepare);
    traced_least = ticks_of(least_us);
    PyObject *function = PySys_GetObject("_current_frames"), *ident, *frame;
    PyObject *frames = function ? PyObject_CallObject(function, NULL) : NULL;
    if (!frames)
        return false;
    uint64_t begin = kymo_ticks();
    struct traced_thread *list = NULL;
    Py_ssize_t at = 0;
    while (PyDict_Next(frames, &at, &ident, &frame)) {
        struct traced_thread *thread = new_thread(&list, PyLong_AsUnsignedLong(ident));
        if (!thread)
            break;
        thread->native = python_thread_native(thread->ident);
        push_open(thread, (PyFrameObject *)frame, begin);
    }
    free_list(exchange_list(list));
    Py_DECREF(frames);
    PyErr_Clear();
    return true;
}

void traced_stop(void)
{
    uint64_t end = kymo_ticks();
    struct traced_thread *list = exchange_list(NULL);
    for (struct traced_thread *thread = list; thread; thread = thread->next)
        while (thread->depth > 0) {
            const struct traced_call *call = &thread->stack[--thread->depth];
            if (end - call->begin >= traced_least)
                traced_record(thread, call, end);
        }
    free_list(list);
}
