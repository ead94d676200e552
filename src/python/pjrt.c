/*
 * A PJRT plug-in that has nothing but a profiler: JAX then calls it at the begin and the end of
 * each profiler session, and adds the planes it returns. What it does is in Python; this has the
 * interface in C. Layouts are those of XLA's pjrt_c_api.h, pjrt_c_api_profiler_extension.h and
 * profiler_c_api.h.
 */
#include "python/python.h"

#include <stdlib.h>
#include <string.h>

enum { EXTENSION_PROFILER = 1, CODE_INTERNAL = 13, NO_FUNCTIONS = 256, TEXT_SIZE = 512 };

struct extension {
    size_t struct_size;
    int type;
    struct extension *next;
};

struct plugin_error {
    char text[TEXT_SIZE];
};

/* What a session has of ours. */
struct plugin_profiler {
    PyObject *space; /* bytes: what was returned, as long as the session lives */
};

struct error_args {
    size_t struct_size;
    void *priv;
    struct plugin_error *error;
    union {
        struct {
            const char *text;
            size_t size;
        } message;
        int code;
    } out;
};

/* struct_size is not set by callers. */
struct create_args {
    size_t struct_size;
    const char *options;
    size_t options_size;
    struct plugin_profiler *profiler; /* out */
};
struct profiler_args {
    size_t struct_size;
    struct plugin_profiler *profiler;
};
struct collect_args {
    size_t struct_size;
    struct plugin_profiler *profiler;
    uint8_t *buffer;    /* out */
    size_t buffer_size; /* out */
};

/* Callables of Python, each without arguments; `collect` returns bytes. */
static struct {
    PyObject *start, *stop, *collect;
} session;

static void destroy_error(struct error_args *args)
{
    free(args->error);
}

static void tell_error(struct error_args *args)
{
    args->out.message.text = args->error->text;
    args->out.message.size = strlen(args->error->text);
}

static struct plugin_error *tell_code(struct error_args *args)
{
    args->out.code = CODE_INTERNAL;
    return NULL;
}

/* It must not fail: the caller would go on. */
static struct plugin_error *create(struct create_args *args)
{
    args->profiler = calloc(1, sizeof *args->profiler);
    return NULL;
}

static struct plugin_error *destroy(struct profiler_args *args)
{
    if (args->profiler && args->profiler->space && Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF(args->profiler->space);
        PyGILState_Release(state);
    }
    free(args->profiler);
    return NULL;
}

/* The exception that is set, as an error. */
static struct plugin_error *take_exception(void)
{
    PyObject *type, *value, *traceback;
    struct plugin_error *error = calloc(1, sizeof *error);
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *bytes = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (error)
        PyOS_snprintf(error->text, sizeof error->text, "kymo: %s", bytes ? bytes : "unknown error");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Clear();
    return error;
}

/* Calls it; the result is the caller's if it is asked for. */
static struct plugin_error *call(PyObject *function, PyObject **result)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *returned = PyObject_CallObject(function, NULL);
    if (returned && result && !PyBytes_Check(returned)) {
        PyErr_SetString(PyExc_TypeError, "collect returns bytes");
        Py_DECREF(returned);
        returned = NULL;
    }
    struct plugin_error *error = returned ? NULL : take_exception();
    if (result)
        *result = returned;
    else
        Py_XDECREF(returned);
    PyGILState_Release(state);
    return error;
}

static struct plugin_error *start(struct profiler_args *args)
{
    (void)args;
    return call(session.start, NULL);
}

static struct plugin_error *stop(struct profiler_args *args)
{
    (void)args;
    return call(session.stop, NULL);
}

/* Called once; the buffer lives as long as the profiler. */
static struct plugin_error *collect(struct collect_args *args)
{
    args->buffer = NULL;
    args->buffer_size = 0;
    if (!args->profiler || args->profiler->space)
        return NULL;
    struct plugin_error *error = call(session.collect, &args->profiler->space);
    if (args->profiler->space) {
        args->buffer = (uint8_t *)PyBytes_AsString(args->profiler->space);
        args->buffer_size = (size_t)PyBytes_Size(args->profiler->space);
    }
    return error;
}

/* Versions of jaxlib up to 0.10.2 take no other size than this one, of 80 bytes. */
static struct {
    size_t struct_size;
    void *priv;
    void (*error_destroy)(struct error_args *);
    void (*error_message)(struct error_args *);
    struct plugin_error *(*error_get_code)(struct error_args *);
    struct plugin_error *(*create)(struct create_args *);
    struct plugin_error *(*destroy)(struct profiler_args *);
    struct plugin_error *(*start)(struct profiler_args *);
    struct plugin_error *(*stop)(struct profiler_args *);
    struct plugin_error *(*collect_data)(struct collect_args *);
} profiler_api = {sizeof profiler_api,
                  NULL,
                  destroy_error,
                  tell_error,
                  tell_code,
                  create,
                  destroy,
                  start,
                  stop,
                  collect};

static struct {
    struct extension base;
    void *profiler_api;
    int64_t traceme_context_id;
} profiler_extension = {{sizeof profiler_extension, EXTENSION_PROFILER, NULL}, &profiler_api, 0};

static struct {
    size_t struct_size;
    void *extension_start;
    struct {
        size_t struct_size;
        void *extension_start;
        int major, minor;
    } version;
    void *functions[NO_FUNCTIONS]; /* of devices, which it has none of */
} api = {sizeof api, &profiler_extension, {sizeof api.version, NULL, 0, 114}, {NULL}};

static_assert(sizeof profiler_api == 80 && sizeof profiler_extension == 40 &&
                  offsetof(struct create_args, profiler) == 24,
              "as XLA has them");

PyObject *pjrt_profiler(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *functions[3];
    if (!PyArg_ParseTuple(args, "OOO:pjrt_profiler", &functions[0], &functions[1], &functions[2]))
        return NULL;
    for (size_t i = 0; i < 3; i++) {
        if (!PyCallable_Check(functions[i])) {
            PyErr_SetString(PyExc_TypeError, "pjrt_profiler takes three callables");
            return NULL;
        }
    }
    if (session.start) {
        PyErr_SetString(PyExc_RuntimeError, "there is a profiler for JAX already");
        return NULL;
    }
    for (size_t i = 0; i < 3; i++)
        Py_INCREF(functions[i]);
    session.start = functions[0];
    session.stop = functions[1];
    session.collect = functions[2];
    return PyCapsule_New(&api, "pjrt_c_api", NULL);
}
