/*
 * kymo._kymo: the recorder for Python programs. Written for the stable ABI of CPython 3.9, so that
 * one file serves this version and all later ones; what is not part of it but exported by all of
 * them is declared here.
 *
 *   module.c      the capture: start, stop
 *   annotation.c  TraceAnnotation and StepTraceAnnotation
 *   encoded.c     args in the names of annotations
 */
#ifndef KYMO_PYTHON_PYTHON_H
#define KYMO_PYTHON_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kymo/kymo.h"

#include <stdbool.h>
#include <stdint.h>

#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
extern const char *PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *);

/* When the running capture began; what was open before begins then. */
extern uint64_t capture_begin_ticks;

/* Adds the types to the module; false with an exception. */
bool annotation_add_types(PyObject *module);

/* Args in a name as XLA's TraceMe writes them, "name#key=value,key=value#": takes `text` apart in
 * place, and adds them to the args, of which there are at most KYMO_MOST_ARGS; returns how many
 * there are then. Numbers become numbers. */
size_t encoded_args(char *text, struct kymo_arg *args, size_t count);

#endif
