/*
 * What was scheduled and has not been seen to be complete: each is an event of its own, from the
 * return of the call that scheduled it to the nrta_is_completed that tells of its end.
 */
#ifndef KYMO_INTERPOSE_REQUESTS_H
#define KYMO_INTERPOSE_REQUESTS_H

#include "nrt/trace.h"

void requests_begin(uint64_t sequence, enum event_type operation, uint32_t core, int queue);
/* Does nothing for a sequence that was not begun, or has ended. */
void requests_end(uint64_t sequence);

/* Around a fork, so that a child does not find it in disorder. */
void requests_lock(void);
void requests_unlock(void);

#endif
