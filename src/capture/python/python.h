/*
 * kymo._kymo: the recorder for Python programs. Written for the stable ABI of CPython 3.9, so that
 * one file serves this version and all later ones; what is not part of it but exported by all of
 * them is declared here.
 *
 *   module.c      the capture: start, stop
 *   state.c       what the others ask of it
 *   annotation.c  TraceAnnotation and StepTraceAnnotation
 *   encoded.c     args in the names of annotations
 *   frames.h      frames of Python calls
 *   samples.c     stacks of all threads, from time to time
 */
#ifndef KYMO_CAPTURE_PYTHON_PYTHON_H
#define KYMO_CAPTURE_PYTHON_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kymo/kymo.h"

#include <stdbool.h>
#include <stdint.h>

#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
extern const char *PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *);

/* When the running capture began; what was open before begins then. UINT64_MAX in a child of fork,
 * which begins its own with its first event. */
extern uint64_t capture_begin_ticks;
uint64_t capture_clamp(uint64_t ticks);

static inline uint64_t capture_since(uint64_t ticks)
{
    return __builtin_expect(ticks >= capture_begin_ticks, 1) ? ticks : capture_clamp(ticks);
}

/* Adds the types to the module; false with an exception. */
bool annotation_add_types(PyObject *module);

/* Args in a name as XLA's TraceMe writes them, "name#key=value,key=value#": takes `text` apart in
 * place, and adds them to the args, of which there are at most KYMO_MOST_ARGS; returns how many
 * there are then. Numbers become numbers. */
size_t encoded_args(char *text, struct kymo_arg *args, size_t count);

/* Python's number of the main thread; 0 when it is not known. */
extern unsigned long python_main_ident;
/* Of a thread by Python's number of it. Name: false when it has none in Python; native: the
 * system's number, 0 when it is not known. */
bool python_thread_name(char *name, size_t size, unsigned long ident);
uint64_t python_thread_native(unsigned long ident);

/* Functions of the module. */
PyObject *trace_frames(PyObject *module, PyObject *args, PyObject *named);
PyObject *stop_frames(PyObject *module, PyObject *unused);
PyObject *sample_stacks(PyObject *module, PyObject *args, PyObject *named);
PyObject *stop_samples(PyObject *module, PyObject *unused);

/* The function that stops both, set before they begin. */
extern PyMethodDef *tracers_end;
/* Has frames and samples stop before the interpreter ends. False with an exception. */
bool ends_with_interpreter(void);

#endif
