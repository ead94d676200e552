/*
 * TraceAnnotation and StepTraceAnnotation: ranges in a program's text, as in jax.profiler. A range
 * is recorded at its end, on the thread that ends it, so that ranges of several tasks of one thread
 * need not nest, and a generator may be resumed by another thread. While no capture runs, entering
 * is a load and a branch.
 */
#include "capture/python/python.h"

#include <string.h>

enum { REMEMBERED = 512 };

struct annotation {
    PyObject_HEAD PyObject *name;
    PyObject *args; /* a dictionary of int, float and str once it is open; NULL for none */
    uint64_t begin; /* ticks; 0 when it is not open */
    bool is_step;
};

/* Numbers of names that were used last. Most names are literals: the same object each time. */
static struct {
    PyObject *text;
    uint32_t type; /* 0: it has args, or the recorder has no room for it */
} names[REMEMBERED];

static PyTypeObject *step_type;

/* The bytes of a text, NULL with an exception. If UTF-8 cannot encode it, *made is a replacement
 * that the caller owns. */
static const char *bytes_of(PyObject *text, PyObject **made)
{
    *made = NULL;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, NULL);
    if (bytes)
        return bytes;
    PyErr_Clear();
    *made = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    return *made ? PyBytes_AsString(*made) : NULL;
}

/* The args of an event while it is recorded. */
struct args {
    struct kymo_arg items[KYMO_MOST_ARGS];
    size_t count;
    PyObject *made[2 * KYMO_MOST_ARGS]; /* texts to be released */
    size_t made_count;
};

static const char *text_of(struct args *args, PyObject *text)
{
    PyObject *made;
    const char *bytes = bytes_of(text, &made);
    if (made)
        args->made[args->made_count++] = made;
    if (!bytes)
        PyErr_Clear();
    return bytes ? bytes : "";
}

static bool is_plain(PyObject *value)
{
    return (PyLong_Check(value) && !PyBool_Check(value)) || PyFloat_Check(value) ||
           PyUnicode_Check(value);
}

/* A plain value; an int that does not fit is a text already. */
static struct kymo_arg arg_of(struct args *args, const char *key, PyObject *value)
{
    if (PyFloat_Check(value))
        return kymo_double(key, PyFloat_AsDouble(value));
    if (PyUnicode_Check(value))
        return kymo_text(key, text_of(args, value));
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow)
        return kymo_int(key, number);
    return kymo_uint(key, PyLong_AsUnsignedLongLong(value));
}

static void take_args(struct args *args, PyObject *dictionary)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (args->count < KYMO_MOST_ARGS && PyDict_Next(dictionary, &at, &key, &value)) {
        const char *name = text_of(args, key);
        args->items[args->count++] = arg_of(args, name, value);
    }
}

static bool fits(PyObject *value)
{
    int overflow;
    if (!is_plain(value))
        return false;
    if (!PyLong_Check(value))
        return true;
    PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow <= 0)
        return overflow == 0;
    PyLong_AsUnsignedLongLong(value);
    bool is_uint = !PyErr_Occurred();
    PyErr_Clear();
    return is_uint;
}

/* A dictionary whose values are plain: the given one if they are; NULL with an exception. */
static PyObject *plain_values(PyObject *dictionary)
{
    PyObject *key, *value, *copy = NULL;
    Py_ssize_t at = 0;
    while (PyDict_Next(dictionary, &at, &key, &value)) {
        if (fits(value))
            continue;
        if (!copy && !(copy = PyDict_Copy(dictionary)))
            return NULL;
        PyObject *text = PyObject_Str(value);
        bool ok = text && PyDict_SetItem(copy, key, text) == 0;
        Py_XDECREF(text);
        if (!ok) {
            Py_DECREF(copy);
            return NULL;
        }
    }
    if (!copy)
        Py_INCREF(dictionary);
    return copy ? copy : dictionary;
}

static void record_with_args(struct annotation *annotation, PyObject *name, uint64_t begin,
                             uint64_t end)
{
    struct args args = {.count = 0};
    if (annotation->is_step)
        args.items[args.count++] = kymo_int("_r", 1);
    if (annotation->args)
        take_args(&args, annotation->args);
    const char *text = text_of(&args, name);
    size_t size = strlen(text);
    char *apart = size > 0 && text[size - 1] == '#' ? PyMem_Malloc(size + 1) : NULL;
    if (apart) {
        memcpy(apart, text, size + 1);
        args.count = encoded_args(apart, args.items, args.count);
    }
    kymo_named_range(apart ? apart : text, begin, end, args.items, args.count);
    PyMem_Free(apart);
    for (size_t i = 0; i < args.made_count; i++)
        Py_DECREF(args.made[i]);
}

/* The number of a name without args in it, 0 for others. */
static uint32_t type_of(PyObject *name)
{
    size_t place = ((uintptr_t)name >> 4) % REMEMBERED;
    if (names[place].text == name)
        return names[place].type;
    PyObject *made, *before = names[place].text;
    const char *text = bytes_of(name, &made);
    size_t size = text ? strlen(text) : 0;
    uint32_t type = size > 0 && text[size - 1] != '#' ? kymo_type_id(text, KYMO_SOFTWARE, 1) : 0;
    if (!text)
        PyErr_Clear();
    Py_INCREF(name);
    names[place].text = name;
    names[place].type = type;
    Py_XDECREF(made);
    Py_XDECREF(before);
    return type;
}

static void end_range(struct annotation *annotation)
{
    uint64_t begin = capture_since(annotation->begin), end = kymo_ticks();
    annotation->begin = 0;
    if (end == 0)
        return;
    uint32_t type = annotation->is_step || annotation->args ? 0 : type_of(annotation->name);
    if (type)
        kymo_range(NULL, type, begin, end);
    else
        record_with_args(annotation, annotation->name, begin, end);
}

static PyObject *annotation_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct annotation *annotation = (struct annotation *)self;
    if (kymo_wants(1)) {
        if (!annotation->name) {
            PyErr_SetString(PyExc_RuntimeError, "__init__ was not called");
            return NULL;
        }
        if (annotation->args) {
            PyObject *plain = plain_values(annotation->args);
            if (!plain)
                return NULL;
            Py_DECREF(annotation->args);
            annotation->args = plain;
        }
        annotation->begin = kymo_ticks();
    }
    Py_INCREF(self);
    return self;
}

static PyObject *annotation_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)args, (void)count;
    struct annotation *annotation = (struct annotation *)self;
    if (annotation->begin)
        end_range(annotation);
    Py_RETURN_NONE;
}

static PyObject *annotation_set_metadata(PyObject *self, PyObject *args, PyObject *named)
{
    struct annotation *annotation = (struct annotation *)self;
    if (!PyArg_ParseTuple(args, ":set_metadata"))
        return NULL;
    if (!named || !kymo_wants(1))
        Py_RETURN_NONE;
    PyObject *plain = plain_values(named);
    PyObject *all = !plain ? NULL : annotation->args ? PyDict_Copy(annotation->args) : PyDict_New();
    if (all && PyDict_Update(all, plain) == 0) {
        PyObject *before = annotation->args;
        annotation->args = all;
        all = before;
    }
    Py_XDECREF(all);
    Py_XDECREF(plain);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *annotation_is_enabled(PyObject *unused, PyObject *unused_too)
{
    (void)unused, (void)unused_too;
    return PyBool_FromLong(kymo_wants(1));
}

/* The name may be given by position or by keyword. Old references are dropped last: that may run
 * code of the program, which must find the object whole. */
static int annotation_init(PyObject *self, PyObject *args, PyObject *named)
{
    struct annotation *annotation = (struct annotation *)self;
    PyObject *name = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    PyObject *others = named;
    if (PyTuple_Size(args) == 0 && named) { /* by its keyword */
        name = PyDict_GetItemString(named, "name");
        others = name ? PyDict_Copy(named) : NULL;
        if (name && (!others || PyDict_DelItemString(others, "name") < 0)) {
            Py_XDECREF(others);
            return -1;
        }
    } else {
        Py_XINCREF(others);
    }
    if (!name || !PyUnicode_Check(name)) {
        Py_XDECREF(others);
        PyErr_SetString(PyExc_TypeError, "an annotation takes one argument, its name (a str); the "
                                         "event's args are keyword arguments");
        return -1;
    }
    PyObject *name_before = annotation->name, *args_before = annotation->args;
    Py_INCREF(name);
    annotation->name = name;
    annotation->args = others;
    annotation->is_step = PyObject_TypeCheck(self, step_type);
    Py_XDECREF(name_before);
    Py_XDECREF(args_before);
    return 0;
}

static void annotation_dealloc(PyObject *self)
{
    struct annotation *annotation = (struct annotation *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (annotation->begin) { /* entered by hand, and left with its last reference */
        PyObject *error, *value, *traceback;
        PyErr_Fetch(&error, &value, &traceback);
        end_range(annotation);
        PyErr_Restore(error, value, traceback);
    }
    Py_XDECREF(annotation->name);
    Py_XDECREF(annotation->args);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *)type);
}

static PyMethodDef methods[] = {
    {"__enter__", annotation_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))annotation_exit, METH_FASTCALL, NULL},
    {"set_metadata", (PyCFunction)(void (*)(void))annotation_set_metadata,
     METH_VARARGS | METH_KEYWORDS, "set_metadata(**kwargs)\n\nAdds args to the event."},
    {"is_enabled", annotation_is_enabled, METH_NOARGS | METH_STATIC,
     "is_enabled() -> bool\n\nWhether annotations are recorded now."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot annotation_slots[] = {
    {Py_tp_doc, "TraceAnnotation(name, **kwargs)\n\nA range in the capture, while the block of a "
                "with statement runs; keyword arguments are args of the event.\n\n"
                ">>> with TraceAnnotation(\"load\", rows=128):\n...     pass\n"},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_init, annotation_init},
    {Py_tp_dealloc, annotation_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec annotation_spec = {"kymo._kymo.TraceAnnotation", sizeof(struct annotation), 0,
                                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, annotation_slots};

static PyType_Slot step_slots[] = {
    {Py_tp_doc, "StepTraceAnnotation(name, step_num=..., **kwargs)\n\nA range that is a step.\n\n"
                ">>> with StepTraceAnnotation(\"train\", step_num=7):\n...     pass\n"},
    {0, NULL},
};
static PyType_Spec step_spec = {"kymo._kymo.StepTraceAnnotation", sizeof(struct annotation), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, step_slots};

bool annotation_add_types(PyObject *module)
{
    PyObject *plain = PyType_FromSpec(&annotation_spec);
    if (!plain)
        return false;
    PyObject *bases = PyTuple_Pack(1, plain);
    PyObject *step = bases ? PyType_FromSpecWithBases(&step_spec, bases) : NULL;
    Py_XDECREF(bases);
    step_type = (PyTypeObject *)step;
    Py_XINCREF(step); /* for step_type */
    if (PyModule_AddObject(module, "TraceAnnotation", plain) < 0) {
        Py_DECREF(plain);
        return false;
    }
    if (step && PyModule_AddObject(module, "StepTraceAnnotation", step) == 0)
        return true;
    Py_XDECREF(step);
    return false;
}
