/*
 * Hooks: how the interpreter reports calls and returns. From 3.12 on by sys.monitoring, for all
 * threads at once; before by the profile function of each thread.
 */
#include "capture/python/frames.h"

#include <stddef.h>

/* Not in the stable ABI, but in all versions that need it. */
typedef int profile_function(PyObject *, PyFrameObject *, int, PyObject *);
extern void PyEval_SetProfile(profile_function *, PyObject *);
extern int _PyEval_SetProfile(PyThreadState *, profile_function *, PyObject *)
    __attribute__((weak));
extern PyThreadState *PyInterpreterState_ThreadHead(PyInterpreterState *) __attribute__((weak));
extern PyThreadState *PyThreadState_Next(PyThreadState *) __attribute__((weak));
enum { ON_CALL = 0, ON_RETURN = 3, ON_C_CALL = 4, ON_C_EXCEPTION = 5, ON_C_RETURN = 6 };

static bool wants_functions; /* of C */

/* ---- sys.monitoring ------------------------------------------------------------------------ */

static PyObject *disable; /* what a callback returns for events of code that is left out */
static long tool = -1;
static bool is_profile_set;

/* The first event of a thread that was not there when tracing began is its first call. */
static inline struct traced_thread *mine(void)
{
    return traced_is_known() ? traced_mine.thread : traced_adopt(NULL);
}

static PyObject *answer(PyObject *object)
{
    Py_INCREF(object);
    return object;
}

static PyObject *on_begin(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self, (void)count;
    struct traced_thread *thread = mine();
    const struct callee *callee = callees_code(&traced_callees, args[0], NULL);
    if (!callee || !thread)
        return answer(Py_None);
    if (callee->type == 0)
        return answer(disable);
    traced_enter(thread, args[0], callee->type);
    return answer(Py_None);
}

/* An event that cannot be disabled. */
static PyObject *on_throw(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    PyObject *result = on_begin(self, args, count);
    Py_DECREF(result);
    return answer(Py_None);
}

static PyObject *on_unwind(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self, (void)count;
    struct traced_thread *thread = mine();
    if (thread)
        traced_leave(thread, args[0]);
    return answer(Py_None);
}

static PyObject *on_end(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct traced_thread *thread = mine();
    if (thread && thread->depth > 0 && thread->stack[thread->depth - 1].key == args[0]) {
        traced_leave(thread, args[0]);
        return answer(Py_None);
    }
    const struct callee *callee = callees_find(&traced_callees, args[0]);
    Py_DECREF(on_unwind(self, args, count));
    return answer(callee && callee->type == 0 ? disable : Py_None);
}

static inline void begin_function(PyObject *function)
{
    const void *key = callees_function_key(function);
    struct traced_thread *thread = key ? mine() : NULL;
    if (!thread)
        return;
    const struct callee *callee = callees_find(&traced_callees, key);
    callee = callee ? callee : callees_add_function(&traced_callees, key, function);
    if (callee && callee->type)
        traced_enter(thread, key, callee->type);
}

static inline void end_function(PyObject *function)
{
    const void *key = callees_function_key(function);
    struct traced_thread *thread = key ? mine() : NULL;
    if (thread && thread->depth > 0 && thread->stack[thread->depth - 1].key == key)
        traced_leave(thread, key);
}

static PyObject *on_call(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self, (void)count;
    begin_function(args[2]);
    return answer(Py_None);
}

static PyObject *on_called(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self, (void)count;
    end_function(args[2]);
    return answer(Py_None);
}

typedef PyObject *callback(PyObject *, PyObject *const *, Py_ssize_t);
static struct event {
    const char *name;
    callback *function;
    int level;
    PyMethodDef method;
} events[] = {
    {"PY_START", on_begin, 1, {0}}, {"PY_RESUME", on_begin, 1, {0}},
    {"PY_THROW", on_throw, 1, {0}}, {"PY_RETURN", on_end, 1, {0}},
    {"PY_YIELD", on_end, 1, {0}},   {"PY_UNWIND", on_unwind, 1, {0}},
    {"CALL", on_call, 2, {0}},      {"C_RETURN", on_called, 2, {0}},
    {"C_RAISE", on_called, 2, {0}},
};
enum { EVENTS = sizeof events / sizeof *events };

/* A tool's number: that of profilers, or one that nobody has claimed. */
static bool take_tool(PyObject *monitoring)
{
    static const long numbers[] = {2, 3, 4};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        PyErr_Clear();
        PyObject *result = PyObject_CallMethod(monitoring, "use_tool_id", "ls", numbers[i], "kymo");
        if (!result)
            continue;
        Py_DECREF(result);
        tool = numbers[i];
        return true;
    }
    return false;
}

static bool register_event(PyObject *monitoring, PyObject *bits, struct event *event, bool is_on,
                           long *set)
{
    PyObject *number = PyObject_GetAttrString(bits, event->name);
    long bit = number ? PyLong_AsLong(number) : -1;
    event->method = (PyMethodDef){event->name, (PyCFunction)(void (*)(void))event->function,
                                  METH_FASTCALL, NULL};
    PyObject *function = is_on ? PyCFunction_NewEx(&event->method, NULL, NULL) : answer(Py_None);
    PyObject *result = number && function ? PyObject_CallMethod(monitoring, "register_callback",
                                                                "lOO", tool, number, function)
                                          : NULL;
    *set |= bit;
    Py_XDECREF(number);
    Py_XDECREF(function);
    Py_XDECREF(result);
    return result;
}

static bool call(PyObject *object, const char *method, const char *format, long first, long second)
{
    PyObject *result = PyObject_CallMethod(object, method, format, first, second);
    Py_XDECREF(result);
    return result;
}

static bool register_events(PyObject *monitoring, int level)
{
    PyObject *bits = PyObject_GetAttrString(monitoring, "events");
    long set = 0;
    bool ok = bits;
    for (size_t i = 0; ok && i < EVENTS; i++)
        if (events[i].level <= level)
            ok = register_event(monitoring, bits, &events[i], true, &set);
    Py_XDECREF(bits);
    disable = ok && !disable ? PyObject_GetAttrString(monitoring, "DISABLE") : disable;
    /* This recording may want what an earlier one left out. */
    return ok && disable && call(monitoring, "restart_events", NULL, 0, 0) &&
           call(monitoring, "set_events", "ll", tool, set);
}

static void unregister_events(PyObject *monitoring)
{
    PyObject *bits = PyObject_GetAttrString(monitoring, "events");
    long set = 0;
    call(monitoring, "set_events", "ll", tool, 0);
    for (size_t i = 0; bits && i < EVENTS; i++)
        register_event(monitoring, bits, &events[i], false, &set);
    call(monitoring, "free_tool_id", "l", tool, 0);
    tool = -1;
    Py_XDECREF(bits);
    PyErr_Clear();
}

/* ---- The profile function ------------------------------------------------------------------ */

/* The frame itself is open unless it begins now. */
static struct traced_thread *adopt_in(PyFrameObject *frame, bool begins)
{
    PyFrameObject *back = begins ? PyFrame_GetBack(frame) : NULL;
    struct traced_thread *thread = traced_adopt(begins ? back : frame);
    Py_XDECREF(back);
    return thread;
}

/* Called by the interpreter for every event of a thread, with its lock held. Always returns 0:
 * anything else would raise in the program. */
static int on_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)self;
    if (what >= ON_C_CALL && !wants_functions)
        return 0;
    if (!traced_callees.slots) /* a thread that does not know yet that tracing has ended */
        return 0;
    struct traced_thread *thread =
        traced_is_known() ? traced_mine.thread : adopt_in(frame, what == ON_CALL);
    if (!thread)
        return 0;
    if (what == ON_CALL || what == ON_RETURN) {
        PyObject *code = (PyObject *)PyFrame_GetCode(frame);
        const struct callee *callee =
            what == ON_CALL ? callees_code(&traced_callees, code, NULL) : NULL;
        if (what == ON_RETURN)
            traced_leave(thread, code);
        else if (callee)
            traced_enter(thread, code, callee->type);
        Py_DECREF(code);
    } else if (what == ON_C_CALL) {
        begin_function(arg);
    } else if (what == ON_C_EXCEPTION || what == ON_C_RETURN) {
        end_function(arg);
    }
    return 0;
}

/* threading has each new thread call this with its first event. */
static PyObject *in_new_thread(PyObject *self, PyObject *args)
{
    (void)self, (void)args;
    PyEval_SetProfile(traced_callees.slots ? on_profile : NULL, NULL);
    Py_RETURN_NONE;
}

static PyMethodDef new_thread_method = {"trace_new_thread", in_new_thread, METH_VARARGS, NULL};

static bool set_for_new_threads(bool is_on)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *function =
        is_on ? PyCFunction_NewEx(&new_thread_method, NULL, NULL) : answer(Py_None);
    PyObject *result =
        threading && function ? PyObject_CallMethod(threading, "setprofile", "O", function) : NULL;
    Py_XDECREF(threading);
    Py_XDECREF(function);
    Py_XDECREF(result);
    return result;
}

static bool set_for_threads(profile_function *function)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; state; state = PyThreadState_Next(state))
        if (_PyEval_SetProfile(state, function, NULL) < 0)
            return false;
    return true;
}

static bool is_free(void)
{
    PyObject *function = PySys_GetObject("getprofile");
    PyObject *other = function ? PyObject_CallObject(function, NULL) : NULL;
    if (other && other != Py_None)
        PyErr_SetString(PyExc_RuntimeError,
                        "another profiler is active (sys.getprofile() is not None)");
    Py_XDECREF(other);
    return !PyErr_Occurred();
}

/* ---- Both ---------------------------------------------------------------------------------- */

static bool install_monitoring(PyObject *monitoring, int level)
{
    if (!take_tool(monitoring)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "other profilers are active: sys.monitoring has no free tool id");
        return false;
    }
    if (register_events(monitoring, level))
        return true;
    PyObject *error, *value, *traceback;
    PyErr_Fetch(&error, &value, &traceback);
    unregister_events(monitoring);
    PyErr_Restore(error, value, traceback);
    return false;
}

bool hooks_prepare(void)
{
    if (PySys_GetObject("monitoring"))
        return true;
    if (!_PyEval_SetProfile || !PyInterpreterState_ThreadHead || !PyThreadState_Next) {
        PyErr_SetString(PyExc_RuntimeError, "this Python cannot trace all of its threads");
        return false;
    }
    is_profile_set = is_free() && set_for_new_threads(true);
    return is_profile_set;
}

bool hooks_install(int level)
{
    PyObject *monitoring = PySys_GetObject("monitoring");
    wants_functions = level > 1;
    return monitoring ? install_monitoring(monitoring, level) : set_for_threads(on_profile);
}

void hooks_remove(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring");
    PyObject *error, *value, *traceback;
    PyErr_Fetch(&error, &value, &traceback);
    if (monitoring && tool >= 0) {
        unregister_events(monitoring);
    } else if (is_profile_set) {
        is_profile_set = false;
        set_for_threads(NULL);
        set_for_new_threads(false);
    }
    PyErr_Clear();
    PyErr_Restore(error, value, traceback);
}
