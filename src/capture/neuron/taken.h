/*
 * Records fetched events: a lane for each core, and one for events without a core. One thread at a
 * time.
 */
#ifndef KYMO_CAPTURE_NEURON_TAKEN_H
#define KYMO_CAPTURE_NEURON_TAKEN_H

#include "capture/neuron/fetched.h"

/* A trace begins; types are those of wrapped functions that are left to the runtime. */
void taken_begin(const uint64_t *types);
/* Records the events of one fetch. A time outside of the trace counts as lost. */
void taken_record(const char *json, size_t size, struct fetched *found);
/* The capture ends, or the process is a child of fork: its lanes are closed. */
void taken_end(void);

#endif
