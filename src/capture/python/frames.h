/*
 * Frames of Python calls, internal to the module. The interpreter reports calls and returns
 * (hooks.c); each thread has a stack of the calls that are open, and a lane to which a call goes
 * when it returns (frames.c). All of it runs with the interpreter's lock held.
 *
 * A call is recorded as a whole at its end: begin and end cannot come apart, calls that are too
 * short leave nothing behind, and of a full ring the outer calls are kept.
 */
#ifndef KYMO_CAPTURE_PYTHON_FRAMES_H
#define KYMO_CAPTURE_PYTHON_FRAMES_H

#include "capture/python/python.h"

extern PyCodeObject *PyFrame_GetCode(PyFrameObject *);
extern PyFrameObject *PyFrame_GetBack(PyFrameObject *);

/* ---- What is called: callees.c ------------------------------------------------------------- */

struct callee {
    const void *key; /* a code object or a PyMethodDef */
    PyObject *owner; /* which it belongs to: kept alive, so that no other gets its address */
    uint32_t type;   /* of its events; 0 when it is left out */
};

struct callees {
    struct callee *slots; /* a power of two */
    size_t mask, count;
    char **excluded; /* names of modules */
    size_t excluded_count;
};

/* `exclude` has the names of modules to leave out, NULL for none. False with an exception. */
bool callees_start(struct callees *callees, PyObject *exclude);
void callees_stop(struct callees *callees);

/* They add it to the table. `globals`: of the code's module; NULL for those of the running frame.
 * NULL when memory runs out. */
const struct callee *callees_add_code(struct callees *callees, PyObject *code, PyObject *globals);
const struct callee *callees_add_function(struct callees *callees, const void *key,
                                          PyObject *function);

static inline size_t callees_place(const void *key)
{
    return (size_t)(((uintptr_t)key * 0x9E3779B97F4A7C15u) >> 32);
}

static inline const struct callee *callees_find(const struct callees *callees, const void *key)
{
    for (size_t i = callees_place(key);; i++) {
        const struct callee *callee = &callees->slots[i & callees->mask];
        if (callee->key == key)
            return callee;
        if (!callee->key)
            return NULL;
    }
}

static inline const struct callee *callees_code(struct callees *callees, PyObject *code,
                                                PyObject *globals)
{
    const struct callee *callee = callees_find(callees, code);
    return __builtin_expect(callee != NULL, 1) ? callee : callees_add_code(callees, code, globals);
}

/* What identifies a function in C: a builtin function or a method descriptor; NULL for others. */
const void *callees_function_key(PyObject *function);

/* ---- Threads and their stacks: frames.c ---------------------------------------------------- */

struct traced_call {
    const void *key;
    uint64_t begin;
    uint32_t type;
};

struct traced_thread {
    struct traced_call *stack;
    size_t depth, capacity, beyond; /* beyond: calls for which the stack has no room */
    struct kymo_lane *lane;         /* NULL until a call has returned */
    bool is_adopted, is_refused;    /* by its thread; by the recorder */
    unsigned unnamed;               /* calls left that may find out its name */
    unsigned long ident;            /* Python's */
    uint64_t native;                /* the system's; 0 when it is not known */
    struct traced_thread *next, **link;
};

struct traced_mine {
    uint64_t generation;
    struct traced_thread *thread;
};
extern __thread struct traced_mine traced_mine;
extern uint64_t traced_generation; /* changes when tracing starts or stops */
extern uint64_t traced_least;      /* ticks of a call that is recorded */
extern struct callees traced_callees;

/* The calling thread's, with the calls that were open when tracing began. `frame`: the innermost of
 * them if the thread is new; NULL for none. */
struct traced_thread *traced_adopt(PyFrameObject *frame);
void traced_grow(struct traced_thread *thread, const struct traced_call *call);
void traced_record(struct traced_thread *thread, const struct traced_call *call, uint64_t end);
/* A return that does not belong to the innermost call. */
void traced_leave_outer(struct traced_thread *thread, const void *key, uint64_t end);

static inline bool traced_is_known(void)
{
    return __builtin_expect(traced_mine.generation == traced_generation, 1);
}

static inline void traced_enter(struct traced_thread *thread, const void *key, uint32_t type)
{
    if (__builtin_expect(thread->depth == thread->capacity, 0)) {
        traced_grow(thread, &(struct traced_call){key, kymo_ticks(), type});
        return;
    }
    struct traced_call *call = &thread->stack[thread->depth++];
    call->key = key;
    call->type = type;
    call->begin = kymo_ticks();
}

static inline void traced_leave(struct traced_thread *thread, const void *key)
{
    uint64_t end = kymo_ticks();
    if (__builtin_expect(thread->depth == 0 || thread->stack[thread->depth - 1].key != key ||
                             thread->beyond > 0,
                         0)) {
        traced_leave_outer(thread, key, end);
        return;
    }
    struct traced_call *call = &thread->stack[--thread->depth];
    if (end - call->begin >= traced_least)
        traced_record(thread, call, end);
}

/* Stacks for all threads there are, with the calls that are open. False with an exception. */
bool traced_start(double least_us);
/* Records what is open, and forgets all threads. */
void traced_stop(void);

/* ---- The interpreter: hooks.c -------------------------------------------------------------- */

/* The first step, which may run code of the program. False with an exception. */
bool hooks_prepare(void);
/* level 1: Python functions, 2: C functions too. False with an exception. */
bool hooks_install(int level);
void hooks_remove(void);

#endif
