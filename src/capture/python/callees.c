/*
 * What is called: the number of an event type for each code object and C function, made when it is
 * called first. Names are those of JAX's tracer, "$file.py:12 function" and "$module function".
 */
#include "capture/python/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 4096, NAME_SIZE = 512 };

/* As all versions have them; function_layout_is_known checks that against a function. */
struct function_layout {
    PyObject_HEAD PyMethodDef *method;
    PyObject *self, *module;
};
static int layout = -1; /* whether it is known; -1: not looked at */

static bool function_layout_is_known(void)
{
    if (layout >= 0)
        return layout;
    PyObject *name = PyUnicode_FromString("kymo");
    static PyMethodDef method = {"probe", NULL, METH_NOARGS, NULL};
    method.ml_meth = (PyCFunction)(void (*)(void))function_layout_is_known; /* never called */
    PyObject *function = name ? PyCFunction_NewEx(&method, name, name) : NULL;
    const struct function_layout *parts = (const void *)function;
    layout = parts && parts->method == &method && parts->self == name && parts->module == name;
    PyErr_Clear();
    Py_XDECREF(function);
    Py_XDECREF(name);
    return layout;
}

const void *callees_function_key(PyObject *function)
{
    if (PyCFunction_Check(function))
        return ((const struct function_layout *)(const void *)function)->method;
    return Py_TYPE(function) == &PyMethodDescr_Type ? function : NULL;
}

static bool exclude_all(struct callees *callees, PyObject *modules)
{
    PyObject *list = modules ? PySequence_List(modules) : PyList_New(0);
    Py_ssize_t count = list ? PyList_Size(list) : -1;
    if (count >= 0 && PyUnicode_Check(modules ? modules : list)) {
        PyErr_SetString(PyExc_TypeError, "exclude must be a list of module names, not a str");
        count = -1;
    }
    if (count > 0 && !(callees->excluded = calloc((size_t)count, sizeof *callees->excluded)))
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count && callees->excluded; i++) {
        const char *name = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
        char *copy = name ? strdup(name) : NULL;
        if (!copy)
            break;
        callees->excluded[callees->excluded_count++] = copy;
    }
    Py_XDECREF(list);
    return !PyErr_Occurred();
}

bool callees_start(struct callees *callees, PyObject *exclude)
{
    if (!function_layout_is_known()) {
        PyErr_SetString(PyExc_RuntimeError, "functions of this Python have an unknown layout");
        return false;
    }
    *callees = (struct callees){.mask = FIRST_SLOTS - 1};
    callees->slots = calloc(FIRST_SLOTS, sizeof *callees->slots);
    if (!callees->slots)
        PyErr_NoMemory();
    if (callees->slots && exclude_all(callees, exclude))
        return true;
    callees_stop(callees);
    return false;
}

void callees_stop(struct callees *callees)
{
    struct callees all = *callees;
    *callees = (struct callees){.slots = NULL};
    for (size_t i = 0; all.slots && i <= all.mask; i++)
        Py_XDECREF(all.slots[i].owner);
    free(all.slots);
    for (size_t i = 0; i < all.excluded_count; i++)
        free(all.excluded[i]);
    free(all.excluded);
}

static bool grow(struct callees *callees)
{
    size_t mask = callees->mask * 2 + 1;
    struct callee *slots = calloc(mask + 1, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i <= callees->mask; i++) {
        const struct callee *old = &callees->slots[i];
        size_t place = callees_place(old->key);
        while (old->key && slots[place & mask].key)
            place++;
        if (old->key)
            slots[place & mask] = *old;
    }
    free(callees->slots);
    callees->slots = slots;
    callees->mask = mask;
    return true;
}

static const struct callee *add(struct callees *callees, struct callee callee)
{
    if (callees->count * 2 > callees->mask && !grow(callees))
        return NULL;
    size_t place = callees_place(callee.key);
    while (callees->slots[place & callees->mask].key)
        place++;
    callees->count++;
    Py_XINCREF(callee.owner);
    callees->slots[place & callees->mask] = callee;
    return &callees->slots[place & callees->mask];
}

static bool is_within(const char *module, size_t size, const char *name)
{
    size_t length = strlen(name);
    return length > 0 && size >= length && memcmp(module, name, length) == 0 &&
           (size == length || module[length] == '.');
}

static bool is_excluded(const struct callees *callees, const char *module, size_t size)
{
    for (size_t i = 0; i < callees->excluded_count; i++)
        if (is_within(module, size, callees->excluded[i]))
            return true;
    return false;
}

/* Copies the text of a str; any other object leaves `otherwise`. */
static void copy_text(char *to, size_t size, PyObject *object, const char *otherwise)
{
    PyObject *bytes = object && PyUnicode_Check(object)
                          ? PyUnicode_AsEncodedString(object, "utf-8", "backslashreplace")
                          : NULL;
    snprintf(to, size, "%s", bytes ? PyBytes_AsString(bytes) : otherwise);
    Py_XDECREF(bytes);
}

static void copy_attribute(char *to, size_t size, PyObject *object, const char *name,
                           const char *otherwise)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    copy_text(to, size, value, otherwise);
    Py_XDECREF(value);
}

static long line_of(PyObject *code)
{
    PyObject *line = PyObject_GetAttrString(code, "co_firstlineno");
    long number = line ? PyLong_AsLong(line) : 0;
    Py_XDECREF(line);
    return number;
}

static bool is_left_out(const struct callees *callees, PyObject *globals, const char *file)
{
    char module[NAME_SIZE] = "";
    if (callees->excluded_count == 0)
        return false;
    if (globals)
        copy_text(module, sizeof module, PyDict_GetItemString(globals, "__name__"), "");
    /* The bootstrap importlib has another name for itself. */
    const char *frozen = "<frozen ";
    if (strncmp(file, frozen, strlen(frozen)) == 0 &&
        is_excluded(callees, file + strlen(frozen), strcspn(file + strlen(frozen), ">")))
        return true;
    return is_excluded(callees, module, strlen(module));
}

const struct callee *callees_add_code(struct callees *callees, PyObject *code, PyObject *globals)
{
    PyObject *error, *value, *traceback;
    char file[NAME_SIZE], function[NAME_SIZE], name[2 * NAME_SIZE + 32];
    PyErr_Fetch(&error, &value, &traceback);
    copy_attribute(file, sizeof file, code, "co_filename", "<unknown>");
    struct callee callee = {.key = code, .owner = code};
    if (!is_left_out(callees, globals ? globals : PyEval_GetGlobals(), file)) {
        const char *slash = strrchr(file, '/');
        copy_attribute(function, sizeof function, code, "co_name", "<unknown>");
        long line = line_of(code);
        snprintf(name, sizeof name, "$%s:%ld %s", slash ? slash + 1 : file, line, function);
        callee.type = kymo_type_id_at(name, 2, file, (uint32_t)line);
    }
    PyErr_Clear();
    PyErr_Restore(error, value, traceback);
    return add(callees, callee);
}

/* What a C function belongs to: its module, or the type that it is a method of. */
static void copy_owner(char *to, size_t size, PyObject *function)
{
    PyObject *type = NULL, *self = NULL;
    if (Py_TYPE(function) == &PyMethodDescr_Type)
        type = PyObject_GetAttrString(function, "__objclass__");
    else
        self = PyObject_GetAttrString(function, "__self__");
    if (self && !PyModule_Check(self) && PyCFunction_Check(function) &&
        !PyUnicode_Check(((struct function_layout *)(void *)function)->module
                             ? ((struct function_layout *)(void *)function)->module
                             : Py_None)) {
        type = PyType_Check(self) ? self : (PyObject *)Py_TYPE(self);
        Py_INCREF(type);
    }
    PyErr_Clear();
    copy_attribute(to, size, type ? type : function, type ? "__name__" : "__module__", "<unknown>");
    Py_XDECREF(self);
    Py_XDECREF(type);
}

/* An object that keeps a function's definition alive, but none of the program's own. */
static PyObject *owner_of(PyObject *function)
{
    PyObject *self = PyCFunction_Check(function) ? PyCFunction_GetSelf(function) : NULL;
    bool is_method = self && !PyModule_Check(self) && !PyCapsule_CheckExact(self);
    return is_method ? (PyObject *)Py_TYPE(self) : function;
}

const struct callee *callees_add_function(struct callees *callees, const void *key,
                                          PyObject *function)
{
    PyObject *error, *value, *traceback;
    char module[NAME_SIZE], own[NAME_SIZE], name[2 * NAME_SIZE + 2];
    PyErr_Fetch(&error, &value, &traceback);
    copy_owner(module, sizeof module, function);
    struct callee callee = {.key = key, .owner = owner_of(function)};
    if (!is_excluded(callees, module, strlen(module))) {
        copy_attribute(own, sizeof own, function, "__name__", "<unknown>");
        snprintf(name, sizeof name, "$%s %s", module, own);
        callee.type = kymo_type_id(name, KYMO_SOFTWARE, 3);
    }
    PyErr_Clear();
    PyErr_Restore(error, value, traceback);
    return add(callees, callee);
}
