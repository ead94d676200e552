/*
 * Reads what nrt_sys_trace_fetch_events returns: a JSON object with a list "events". It comes from
 * another vendor's library, so nothing about it is taken for granted. Nothing is allocated.
 */
#ifndef KYMO_CAPTURE_NEURON_FETCHED_H
#define KYMO_CAPTURE_NEURON_FETCHED_H

#include "capture/neuron/trace.h"

enum {
    FETCHED_TEXT = 2048,                                     /* of one text; the rest is cut */
    FETCHED_TEXTS = (2 * KYMO_MOST_ARGS + 1) * FETCHED_TEXT, /* of one event: keys and values */
};

/* Texts are valid during the call. */
struct fetched_event {
    const char *type;
    enum trace_phase phase;
    bool has_core, has_time;
    uint32_t core;
    uint64_t tracking_id; /* 0: none */
    int64_t time_ns;      /* on the runtime's clock */
    struct kymo_arg args[KYMO_MOST_ARGS];
    size_t count;
};

struct fetched {
    uint64_t events;     /* that were handed over */
    uint64_t non_events; /* items of the list without a type or a time */
    uint64_t lost;       /* as the runtime says */
    const char *problem; /* why reading ended early; NULL when it did not */
    size_t offset;       /* where */
};

/* Calls take for each event, in their order; those before a problem are taken. texts has
 * FETCHED_TEXTS bytes. */
void fetched_read(const char *json, size_t size, char *texts,
                  void (*take)(void *user, struct fetched_event *event), void *user,
                  struct fetched *result);

#endif
