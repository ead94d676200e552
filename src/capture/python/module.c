/*
 * kymo._kymo: beginning and ending a capture from Python.
 */
#include "capture/python/python.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_ours; /* a capture that runs was begun here */

static void note_main_thread(void)
{
    if (syscall(SYS_gettid) == getpid())
        python_main_ident = PyThread_get_thread_ident();
}

static void after_fork_in_child(void)
{
    capture_begin_ticks = UINT64_MAX;
    note_main_thread();
}

static PyObject *fail(int problem, const char *text, PyObject *path)
{
    if (problem == -EALREADY) {
        PyErr_SetString(PyExc_RuntimeError, text);
        return NULL;
    }
    errno = -problem;
    return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
}

static PyObject *session_dir(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    char path[PATH_MAX] = "";
    size_t size;
    Py_BEGIN_ALLOW_THREADS;
    size = kymo_session_dir(path, sizeof path);
    Py_END_ALLOW_THREADS;
    if (size == 0)
        Py_RETURN_NONE;
    return PyUnicode_DecodeFSDefault(path);
}

static PyObject *is_recording(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(is_ours || kymo_ticks() != 0);
}

/* Numbers that Python would wrap around are refused. */
static bool in_range(const char *what, long long value, long long least, long long most)
{
    if (value >= least && value <= most)
        return true;
    PyErr_Format(PyExc_ValueError, "%s must be from %lld to %lld, not %lld", what, least, most,
                 value);
    return false;
}

static bool is_by_variable(void)
{
    struct kymo_options options = KYMO_OPTIONS;
    return kymo_options_from_environment(&options);
}

/* Creating files may take long: kymo_start runs without the interpreter's lock. Ranges are checked
 * before anything is started. */
static PyObject *start(PyObject *module, PyObject *args, PyObject *named)
{
    (void)module;
    static char *names[] = {"output_dir",     "level",   "max_events",  "instance", "cpu_util_ms",
                            "host_memory_ms", "devices", "devices_dir", NULL};
    struct kymo_options options = KYMO_OPTIONS;
    long long events = (long long)options.max_events, cpu = options.cpu_util_ms,
              memory = options.host_memory_ms;
    int devices = KYMO_DEVICES_NONE;
    PyObject *path = NULL, *apart = NULL;
    if (!PyArg_ParseTupleAndKeywords(
            args, named, "O&|$iLzLLiO&:start", names, PyUnicode_FSConverter, &path, &options.level,
            &events, &options.instance, &cpu, &memory, &devices, PyUnicode_FSConverter, &apart))
        return NULL;
    PyObject *result = NULL;
    if (in_range("level", options.level, 0, 3) && in_range("max_events", events, 1, LLONG_MAX) &&
        in_range("cpu_util_ms", cpu, 0, UINT_MAX) &&
        in_range("host_memory_ms", memory, 0, UINT_MAX) &&
        in_range("devices", devices, KYMO_DEVICES_NONE, KYMO_DEVICES_SESSION)) {
        int problem;
        options.output_dir = PyBytes_AsString(path);
        options.max_events = (uint64_t)events;
        options.cpu_util_ms = (unsigned)cpu;
        options.host_memory_ms = (unsigned)memory;
        options.devices = (enum kymo_devices)devices;
        options.devices_dir = apart ? PyBytes_AsString(apart) : NULL;
        Py_BEGIN_ALLOW_THREADS;
        problem = kymo_start(&options);
        Py_END_ALLOW_THREADS;
        is_ours |= problem == 0;
        capture_begin_ticks = problem == 0 ? kymo_ticks() : capture_begin_ticks;
        if (problem)
            fail(problem,
                 is_by_variable()
                     ? "a capture is running already, of the whole program, because of "
                       "NEURON_RT_INSPECT_ENABLE (kymo inspect sets it); use either "
                       "that or a profiler in the program"
                     : "a capture is running already",
                 path);
        else
            result = PyBool_FromLong(1);
    }
    Py_DECREF(path);
    Py_XDECREF(apart);
    if (!result)
        return NULL;
    Py_DECREF(result);
    Py_RETURN_NONE;
}

static PyObject *devices_in_environment(PyObject *module, PyObject *usual)
{
    (void)module;
    long value = PyLong_AsLong(usual);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    return PyLong_FromLong((long)kymo_devices_in_environment((enum kymo_devices)value));
}

static PyObject *stop_tracers(PyObject *module, PyObject *unused)
{
    Py_DECREF(stop_frames(module, unused));
    return stop_samples(module, unused);
}

static PyMethodDef end_method = {"end_tracers", stop_tracers, METH_NOARGS, NULL};

static PyObject *stop(PyObject *module, PyObject *unused)
{
    int problem;
    Py_DECREF(stop_tracers(module, unused));
    Py_BEGIN_ALLOW_THREADS;
    problem = kymo_stop();
    Py_END_ALLOW_THREADS;
    is_ours = false;
    PyObject *path = session_dir(module, unused);
    if (!problem || !path)
        return path;
    fail(problem, "no capture is running", path);
    Py_DECREF(path);
    return NULL;
}

static PyMethodDef functions[] = {
    {"trace_frames", (PyCFunction)(void (*)(void))trace_frames, METH_VARARGS | METH_KEYWORDS,
     "trace_frames(level=1, min_duration_us=0, exclude=())\n\nRecords calls, of all threads: level "
     "1 those of Python functions, 2 also those of C functions."},
    {"stop_frames", stop_frames, METH_NOARGS,
     "stop_frames()\n\nEnds the recording of calls; those that are open end now."},
    {"sample_stacks", (PyCFunction)(void (*)(void))sample_stacks, METH_VARARGS | METH_KEYWORDS,
     "sample_stacks(hz=100)\n\nRecords the stacks of all threads, hz times a second."},
    {"stop_samples", stop_samples, METH_NOARGS, "stop_samples()\n\nEnds the recording of stacks."},
    {"start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS,
     "start(output_dir, *, level=2, max_events=1000000, instance=None, cpu_util_ms=1000, "
     "host_memory_ms=1000, devices=0, devices_dir=)\n\nBegins a capture. devices: device "
     "profiles of Neuron models: 0 none, 1 of the first execution of each, 2 of all. RuntimeError "
     "when one is running."},
    {"devices_in_environment", devices_in_environment, METH_O,
     "devices_in_environment(usual) -> int\n\nWhat NEURON_RT_INSPECT_DEVICE_PROFILE asks for, as "
     "`devices` of start(); `usual` when it is not set."},
    {"stop", stop, METH_NOARGS,
     "stop() -> str\n\nEnds the capture and returns the directory of its session. RuntimeError "
     "when none is running."},
    {"session_dir", session_dir, METH_NOARGS,
     "session_dir() -> str | None\n\nThe directory of the running capture's session, or else of "
     "the last one's."},
    {"is_recording", is_recording, METH_NOARGS,
     "is_recording() -> bool\n\nWhether a capture is running."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "kymo._kymo",
    "Records what a Python program does.",
    -1,
    functions,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__kymo(void)
{
    note_main_thread();
    tracers_end = &end_method;
    pthread_atfork(NULL, NULL, after_fork_in_child);
    PyObject *module = PyModule_Create(&definition);
    if (module && !annotation_add_types(module)) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
