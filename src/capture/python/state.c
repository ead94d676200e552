/*
 * What frames, samples and annotations ask: when the capture began, which thread is the main one,
 * and that they stop before the interpreter does.
 */
#include "capture/python/python.h"

uint64_t capture_begin_ticks;
unsigned long python_main_ident;
PyMethodDef *tracers_end;

uint64_t capture_clamp(uint64_t ticks)
{
    if (capture_begin_ticks == UINT64_MAX)
        capture_begin_ticks = kymo_ticks();
    return ticks > capture_begin_ticks ? ticks : capture_begin_ticks;
}

bool ends_with_interpreter(void)
{
    static bool is_registered;
    if (is_registered)
        return true;
    PyObject *module = PyImport_ImportModule("atexit");
    PyObject *function = PyCFunction_NewEx(tracers_end, NULL, NULL);
    PyObject *result =
        module && function ? PyObject_CallMethod(module, "register", "O", function) : NULL;
    is_registered = result;
    Py_XDECREF(module);
    Py_XDECREF(function);
    Py_XDECREF(result);
    return is_registered;
}
