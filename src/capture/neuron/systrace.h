/*
 * The runtime's own system trace (nrt_sys_trace.h), taken through its published functions: events
 * of the hardware, and of the types the runtime says it emits. A thread fetches them while a
 * capture runs. Calls of those types are then left to the runtime, so that none is recorded twice.
 *
 * The program may trace, too: its own trace takes the place of this one, from its start to its
 * stop. Events it fetches are recorded on their way to it; calls are recorded by their wrappers.
 */
#ifndef KYMO_CAPTURE_NEURON_SYSTRACE_H
#define KYMO_CAPTURE_NEURON_SYSTRACE_H

#include "capture/neuron/call.h"

/* When the library is loaded. found_runtime is called once, when a runtime with a trace of its own
 * is initialized, with no lock held. */
void systrace_prepare(void (*found_runtime)(void));

/* Held across fork; the child has no trace of its own yet. */
void systrace_lock(void);
void systrace_unlock(void);
void systrace_forked(void);

/* After nrt_init, and before nrt_close. */
void systrace_initialized(NRT_STATUS status);
void systrace_close(void);

extern uint64_t systrace_types[EVENT_TYPE_WORDS]; /* left to the runtime */
extern bool systrace_is_due; /* the runtime is ready, and no trace was begun in this capture */
/* A capture began after the runtime did. */
void systrace_catch_up(void);

/* Whether the wrapper of a function records its calls. */
static inline bool call_is_recorded(enum runtime_event type)
{
    if (!kymo_wants(call_level(type)) || call_is_to_own_runtime())
        return false;
    if (__builtin_expect(__atomic_load_n(&systrace_is_due, __ATOMIC_RELAXED), 0))
        systrace_catch_up();
    return !(__atomic_load_n(&systrace_types[type / 64], __ATOMIC_RELAXED) >> (type % 64) & 1);
}

#endif
