/*
 * An intercepted call: the real function, and the two events around it.
 */
#ifndef KYMO_CAPTURE_NEURON_CALL_H
#define KYMO_CAPTURE_NEURON_CALL_H

#include "capture/neuron/trace.h"

#include <nrt/nrt_status.h>

/* The next definition of this function after the interposer's, cached in *slot; NULL when there is
 * none, after a line on standard error. */
void *call_resolve(void **slot, const char *name);
static inline void *call_find(void **slot, const char *name)
{
    void *real = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    return __builtin_expect(real != NULL, 1) ? real : call_resolve(slot, name);
}

/* The same without the line, and without being cached. */
void *call_look_up(const char *name);

/* Prints one line on standard error. */
void call_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether the runtime is Kymo's own: it hands its events to the capture itself. */
bool call_is_to_own_runtime(void);

/* The level of events of a type: those that only the interposer records are less important. */
static inline int call_level(enum runtime_event type)
{
    return (int)type < (int)EVENT_PUBLISHED ? 1 : 2;
}

#endif
