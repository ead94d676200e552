/*
 * The rings of nrt_sys_trace_start: one for each enabled core, and one for events without a core.
 * They are in process memory; pages are allocated as they are first written.
 */
#ifndef KYMO_CAPTURE_NEURON_RINGS_H
#define KYMO_CAPTURE_NEURON_RINGS_H

#include "capture/neuron/trace.h"

enum {
    RINGS_CORES = 128,       /* maximum cores of a host */
    RINGS = RINGS_CORES + 1, /* the last is for events without a core */
    RINGS_ARGS = 8,          /* per event; further ones are dropped */
};

struct rings_config {
    uint64_t max_events; /* per ring */
    uint64_t cores[(RINGS_CORES + 63) / 64], types[EVENT_TYPE_WORDS];
};

/* A stored event, which owns its texts. */
struct rings_event {
    int64_t time_ns; /* since the epoch */
    uint64_t tracking_id;
    uint16_t type;
    uint8_t phase, count;
    uint8_t kind[RINGS_ARGS]; /* enum kymo_type */
    const char *key[RINGS_ARGS];
    union {
        int64_t i;
        uint64_t u;
        double d;
        char *text; /* NULL when out of memory */
    } value[RINGS_ARGS];
};

enum rings_result { RINGS_OK, RINGS_RUNNING, RINGS_NOT_RUNNING, RINGS_NO_MEMORY };

enum rings_result rings_start(const struct rings_config *config);
enum rings_result rings_stop(void);
bool rings_are_running(void);
/* Around a fork. The child drops the parent's events: the parent fetches them. */
void rings_before_fork(void);
void rings_after_fork(bool is_child);

void rings_push(const struct trace_record *event, const struct kymo_arg *args, size_t count);

/* The number of events in a ring. */
uint64_t rings_waiting(uint32_t ring);
/* Takes up to `max` events, oldest first; returns their number. */
size_t rings_take(uint32_t ring, struct rings_event *events, size_t max);
void rings_event_free(struct rings_event *event);
/* Events overwritten since the last call. */
uint64_t rings_take_lost(uint32_t ring);
/* Counts events that were taken but not delivered. */
void rings_add_lost(uint32_t ring, uint64_t count);

#endif
