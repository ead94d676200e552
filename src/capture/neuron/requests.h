/*
 * Pending asynchronous requests: each becomes an event, from the return of the call that scheduled
 * it to the nrta_is_completed call that reports its completion.
 */
#ifndef KYMO_CAPTURE_NEURON_REQUESTS_H
#define KYMO_CAPTURE_NEURON_REQUESTS_H

#include "capture/neuron/trace.h"

void requests_begin(uint64_t sequence, enum runtime_event operation, uint32_t core, int queue);
/* Ignores a sequence that was not begun, or has ended. */
void requests_end(uint64_t sequence);

/* Held across fork, so that the child finds it consistent. */
void requests_lock(void);
void requests_unlock(void);

#endif
