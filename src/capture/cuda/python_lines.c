/*
 * PyTorch has released Python's lock when it reports an operator: the lock is taken while the
 * frames are read. If other Python threads hold it, the program would wait for each of its
 * operators: after a few such waits no more lines are asked for. Code objects that were seen are
 * kept alive, so that what is known about them stays true.
 */
#include "capture/cuda/python_lines.h"

#include "base/clock.h"
#include "capture/cuda/say.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SLOTS = 1 << 12, /* of code objects; when they are full, others have no lines */
    MOST_CODES = SLOTS / 4 * 3,
    MOST_FRAMES = 64,
    LONG_WAIT_NS = 100000,
    MOST_WAITS = 100,
};

/* What is used of Python, since 3.9. */
#define PYTHON_FUNCTIONS(FUNCTION)                                                                 \
    FUNCTION(void *, PyGILState_GetThisThreadState, (void))                                        \
    FUNCTION(int, PyGILState_Ensure, (void))                                                       \
    FUNCTION(void, PyGILState_Release, (int))                                                      \
    FUNCTION(void *, PyEval_GetFrame, (void))                                                      \
    FUNCTION(void *, PyFrame_GetBack, (void *))                                                    \
    FUNCTION(void *, PyFrame_GetCode, (void *))                                                    \
    FUNCTION(int, PyFrame_GetLineNumber, (void *))                                                 \
    FUNCTION(void *, PyObject_GetAttrString, (void *, const char *))                               \
    FUNCTION(const char *, PyUnicode_AsUTF8, (void *))                                             \
    FUNCTION(void *, PyImport_GetModuleDict, (void))                                               \
    FUNCTION(void *, PyDict_GetItemString, (void *, const char *))                                 \
    FUNCTION(void *, PyErr_Occurred, (void))                                                       \
    FUNCTION(void, PyErr_Clear, (void))                                                            \
    FUNCTION(void, Py_IncRef, (void *))                                                            \
    FUNCTION(void, Py_DecRef, (void *))

struct code {
    void *code;
    const char *file; /* NULL: PyTorch's own, or no file */
};

static struct {
#define MEMBER(type, name, parameters) type(*name) parameters;
    PYTHON_FUNCTIONS(MEMBER)
#undef MEMBER
    int (*is_finalizing)(void);
    bool is_there;
    pthread_mutex_t lock; /* of what follows; Python without its lock needs it */
    char *torch;          /* its folder, with a slash at the end */
    struct code codes[SLOTS];
    uint32_t count;
} python = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_uint waits;

static void find_python(void)
{
    python.is_there = true;
#define FIND(type, name, parameters)                                                               \
    python.name = (type(*) parameters)dlsym(RTLD_DEFAULT, #name);                                  \
    python.is_there = python.is_there && python.name;
    PYTHON_FUNCTIONS(FIND)
#undef FIND
    python.is_finalizing = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (!python.is_finalizing)
        python.is_finalizing = (int (*)(void))dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    python.is_there = python.is_there && python.is_finalizing;
}

/* ---- Code objects -------------------------------------------------------------------------- */

/* A copy of a text that is an attribute; NULL when there is none. */
static char *text_attribute(void *object, const char *name)
{
    void *value = python.PyObject_GetAttrString(object, name);
    const char *text = value ? python.PyUnicode_AsUTF8(value) : NULL;
    char *copy = text ? strdup(text) : NULL;
    if (!text)
        python.PyErr_Clear();
    if (value)
        python.Py_DecRef(value);
    return copy;
}

/* "/…/torch/" of "/…/torch/__init__.py" */
static void find_torch(void)
{
    void *modules = python.PyImport_GetModuleDict();
    void *torch = modules ? python.PyDict_GetItemString(modules, "torch") : NULL;
    char *file = torch ? text_attribute(torch, "__file__") : NULL;
    char *slash = file ? strrchr(file, '/') : NULL;
    if (slash)
        slash[1] = '\0';
    python.torch = slash ? file : NULL;
    if (!slash)
        free(file);
}

static bool is_own(const char *file)
{
    return python.torch && strncmp(file, python.torch, strlen(python.torch)) == 0;
}

/* Names that are not files, such as "<string>", have brackets. */
static const char *file_of(void *code)
{
    char *file = text_attribute(code, "co_filename");
    if (file && file[0] && file[0] != '<' && !is_own(file))
        return file;
    free(file);
    return NULL;
}

/* The file of a code object; NULL for those that are passed over. */
static const char *known_file(void *code)
{
    size_t slot = ((uintptr_t)code >> 4) * 0x9e3779b97f4a7c15u >> 52;
    while (python.codes[slot].code && python.codes[slot].code != code)
        slot = (slot + 1) % SLOTS;
    struct code *known = &python.codes[slot];
    if (known->code)
        return known->file;
    if (python.count == MOST_CODES)
        return NULL;
    python.count++;
    python.Py_IncRef(code);
    known->code = code;
    known->file = file_of(code);
    return known->file;
}

/* ---- Frames -------------------------------------------------------------------------------- */

static bool look_at(void *frame, struct python_line *line)
{
    void *code = python.PyFrame_GetCode(frame);
    line->file = code ? known_file(code) : NULL;
    if (code)
        python.Py_DecRef(code);
    if (line->file)
        line->line = python.PyFrame_GetLineNumber(frame);
    return line->file != NULL;
}

static bool find_line(struct python_line *line)
{
    void *frame = python.PyEval_GetFrame();
    if (frame)
        python.Py_IncRef(frame);
    if (!python.torch)
        find_torch();
    bool is_found = false;
    for (int i = 0; frame && i < MOST_FRAMES && !(is_found = look_at(frame, line)); i++) {
        void *back = python.PyFrame_GetBack(frame);
        python.Py_DecRef(frame);
        frame = back;
    }
    if (frame)
        python.Py_DecRef(frame);
    return is_found;
}

static void note_wait(int64_t wait_ns)
{
    if (wait_ns > LONG_WAIT_NS && atomic_fetch_add(&waits, 1) + 1 == MOST_WAITS)
        say("Python lines are not recorded from here on: other threads hold Python's lock");
}

/* Looking up a line may free objects whose destructors run operators: those get no line. */
bool python_line(struct python_line *line)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_python);
    if (!python.is_there || atomic_load(&waits) >= MOST_WAITS ||
        !python.PyGILState_GetThisThreadState() || python.is_finalizing())
        return false;
    int64_t start_ns = clock_monotonic_ns();
    int state = python.PyGILState_Ensure();
    note_wait(clock_monotonic_ns() - start_ns);
    bool is_found = false;
    if (!python.PyErr_Occurred() && pthread_mutex_trylock(&python.lock) == 0) {
        is_found = find_line(line);
        pthread_mutex_unlock(&python.lock);
    }
    python.PyGILState_Release(state);
    return is_found;
}
