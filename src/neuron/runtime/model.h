/*
 * Models: a NEFF that is loaded on a logical core.
 */
#ifndef KYMO_NEURON_RUNTIME_MODEL_H
#define KYMO_NEURON_RUNTIME_MODEL_H

#include "neuron/program/neff.h"
#include "neuron/runtime/ranks.h"
#include "neuron/runtime/runtime.h"

struct model_io {
    const struct variable *variable;
    bool is_output;
    uint32_t index[LOGICAL_MAX]; /* of the variable in each program; NO_INDEX: not used by it */
};

struct model {
    struct object object;
    uint32_t id;
    struct vnc *vnc;
    uint8_t *bytes; /* the file, to which the NEFF refers */
    size_t size;
    struct neff *neff;
    const struct neff_info *info;
    uint64_t hash; /* of file names: first bytes of the uuid */
    struct model_io *io;
    uint32_t io_count, input_count; /* inputs come first */
    struct {
        uint8_t **variables; /* memory of weights and scratchpad; NULL for inputs and outputs */
        uint8_t *memory;     /* on the device */
        size_t memory_size;
    } programs[LOGICAL_MAX];
    uint32_t rank, rank_count;
    atomic_ullong executions; /* begun */
    struct {                  /* the execution that a session profiled as the model's first */
        uint64_t capture;     /* kymo_wanted_devices; 0: none yet */
        uint32_t execution;
    } first;
};

/* NULL for an invalid handle; put with object_put. */
struct model *model_get(const nrt_model_t *handle);

#endif
