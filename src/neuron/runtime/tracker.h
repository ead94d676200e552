/*
 * nrta_error_tracker_t: statuses of requests that failed.
 */
#ifndef KYMO_NEURON_RUNTIME_TRACKER_H
#define KYMO_NEURON_RUNTIME_TRACKER_H

#include <nrt/nrt_status.h>
#include <stdint.h>

struct tracker;
void tracker_add(struct tracker *tracker, uint64_t sequence, NRT_STATUS status);
void tracker_put(struct tracker *tracker);

#endif
