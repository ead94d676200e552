/*
 * An intercepted call: the real function, and the two events around it.
 */
#ifndef KYMO_INTERPOSE_CALL_H
#define KYMO_INTERPOSE_CALL_H

#include "nrt/trace.h"

#include <nrt/nrt_status.h>

/* The next definition of this function after the interposer's, cached in *slot; NULL when there is
 * none, after a line on standard error. */
void *call_resolve(void **slot, const char *name);
static inline void *call_find(void **slot, const char *name)
{
    void *real = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    return __builtin_expect(real != NULL, 1) ? real : call_resolve(slot, name);
}

/* Whether the runtime is Kymo's own: it emits events itself, which must not be recorded twice. */
bool call_is_to_own_runtime(void);

static inline bool call_is_recorded(enum event_type type)
{
    return kymo_wants((int)type < (int)EVENT_PUBLISHED ? 1 : 2) && !call_is_to_own_runtime();
}

#endif
