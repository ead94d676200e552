/*
 * Locations: where a lane's events happened, as used for grouping and filtering. Cores are numbered
 * within a machine, workers across all machines.
 */
#ifndef KYMO_MODEL_LOCATION_H
#define KYMO_MODEL_LOCATION_H

#include "model/catalog.h"

/* The layer that recorded it. */
enum layer {
    LAYER_OTHER,
    LAYER_FRAMEWORK,
    LAYER_RUNTIME, /* Neuron's */
    LAYER_GPU,     /* this and later ones are hardware */
    LAYER_TPU,
    LAYER_NEURON,
    LAYER_DEVICE,
};

struct location {
    enum layer layer;
    uint32_t instance;      /* string: the machine */
    uint32_t process_track; /* the track of the process */
    int64_t process, thread;
    bool has_core;
    int64_t core, worker;
};

/* By track, set for lanes; free it with mem_free. */
struct location *locations_of(const struct catalog *catalog);

/* The number at the end of a device's name: "/device:GPU:3". */
bool number_at_end(struct text name, int64_t *number);

/* The layer's name in the trace_event_source column. */
struct text layer_name(enum layer layer);

#endif
