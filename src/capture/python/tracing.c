/*
 * trace_frames and stop_frames: calls of Python programs, from begin to end.
 */
#include "capture/python/frames.h"

static bool is_tracing;

static bool start(int level, double least_us, PyObject *exclude)
{
    if (!callees_start(&traced_callees, exclude))
        return false;
    if (hooks_prepare() && traced_start(least_us)) {
        if (hooks_install(level))
            return true;
        traced_stop();
    }
    hooks_remove();
    callees_stop(&traced_callees);
    return false;
}

/* The interpreter's lock is held. is_tracing is set last, so that there is nothing to stop after a
 * failure. */
PyObject *trace_frames(PyObject *module, PyObject *args, PyObject *named)
{
    (void)module;
    static char *names[] = {"level", "min_duration_us", "exclude", NULL};
    int level = 1;
    double least_us = 0;
    PyObject *exclude = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, named, "|idO:trace_frames", names, &level, &least_us,
                                     &exclude))
        return NULL;
    if (level < 1 || level > 2)
        return PyErr_Format(PyExc_ValueError,
                            "level must be 1 (Python functions) or 2 (also C "
                            "functions), not %d",
                            level);
    if (!(least_us >= 0)) {
        PyErr_SetString(PyExc_ValueError, "min_duration_us must not be negative");
        return NULL;
    }
    if (is_tracing || !kymo_ticks()) {
        PyErr_SetString(PyExc_RuntimeError,
                        is_tracing ? "frames are traced already" : "no capture is running");
        return NULL;
    }
    if (!ends_with_interpreter() || !start(level, least_us, exclude))
        return NULL;
    is_tracing = true;
    Py_RETURN_NONE;
}

PyObject *stop_frames(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (is_tracing) {
        is_tracing = false;
        hooks_remove();
        traced_stop();
        callees_stop(&traced_callees);
    }
    Py_RETURN_NONE;
}
