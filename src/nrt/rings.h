/*
 * The rings of nrt_sys_trace_start: one for each core that is enabled, and one for what belongs to
 * no core. They are memory of the process; pages are taken as they are first written.
 */
#ifndef KYMO_NRT_RINGS_H
#define KYMO_NRT_RINGS_H

#include "nrt/trace.h"

enum {
    RINGS_CORES = 128,       /* cores a host has at most */
    RINGS = RINGS_CORES + 1, /* the last is that of no core */
    RINGS_ARGS = 8,          /* of one event; further ones are left out */
};

struct rings_config {
    uint64_t max_events; /* of a ring */
    uint64_t cores[(RINGS_CORES + 63) / 64], types[EVENT_TYPE_WORDS];
};

/* An event as it is kept. Texts are its own. */
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
        char *text; /* NULL when there was no memory for it */
    } value[RINGS_ARGS];
};

enum rings_result { RINGS_OK, RINGS_RUNNING, RINGS_NOT_RUNNING, RINGS_NO_MEMORY };

enum rings_result rings_start(const struct rings_config *config);
enum rings_result rings_stop(void);
bool rings_are_running(void);

void rings_push(const struct trace_record *event, const struct kymo_arg *args, size_t count);

/* How many events a ring has. */
uint64_t rings_waiting(uint32_t ring);
/* Takes out the oldest, as many as there are but no more than `most`. */
size_t rings_take(uint32_t ring, struct rings_event *events, size_t most);
void rings_event_free(struct rings_event *event);
/* Events that were overwritten since this was last asked. */
uint64_t rings_take_lost(uint32_t ring);
/* Events that were taken out and reached nobody. */
void rings_add_lost(uint32_t ring, uint64_t count);

#endif
