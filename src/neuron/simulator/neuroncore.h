/*
 * neuroncore: a NeuronCore in software. A discrete-event simulation of engines, semaphores, DMA
 * engines, SBUF, PSUM and HBM with the published clocks and timing rules, which also computes
 * values. The same program with the same inputs gives the same outputs and the same notifications,
 * byte for byte.
 */
#ifndef KYMO_NEURON_SIMULATOR_NEURONCORE_H
#define KYMO_NEURON_SIMULATOR_NEURONCORE_H

#include "neuron/profile_file/ntff.h"
#include "neuron/program/neff.h"

struct core; /* SBUF, PSUM, registers; for one thread at a time */

struct core_options {
    const struct core_hardware *hardware;
    bool compute;            /* false: timing alone; data is not touched */
    uint32_t cores_on_stack; /* that share the HBM stack's bandwidth while this one runs */
    bool check_numbers;      /* NaN and infinities written to outputs are errors */
};
struct core *core_new(const struct core_options *options);
void core_free(struct core *core);

/* Exchanges data with other ranks, in the order the program triggers collectives. */
struct core_exchange {
    void *context;
    uint32_t rank, rank_count;
    /* in and out are NULL without arithmetic. `ready` is when this rank arrived, in ticks; gives
     * when the last of the group did. False: a rank is gone. */
    bool (*run)(void *context, const struct collective *collective, uint32_t index,
                const uint8_t *in, uint8_t *out, uint64_t ready, uint64_t *all_ready);
};

struct core_run {
    const struct core_program *program;
    uint8_t *const
        *variables; /* memory of each variable of the program; NULL entries without arithmetic */
    const struct core_exchange
        *exchange;                 /* NULL: programs with collectives fail, except for one rank */
    uint64_t timeout_ticks;        /* 0: none */
    const volatile bool *canceled; /* polled; NULL: never */
    /* Receives batches of notifications, of each unit in order of time; NULL: not profiled. */
    void (*notify)(void *context, const struct notification *items, size_t count);
    void *notify_context;
    bool dge_notifications; /* transfers of dynamic DMA as well */
    uint32_t execution;     /* its number, in explicit notifications */
};

struct core_result {
    uint32_t status; /* NRT_STATUS: 0, 5 TIMEOUT, 1003 NUM_ERR, 1006 OOB, 1200 COLLECTIVES, ... */
    uint64_t ticks;  /* simulated duration */
    uint64_t instructions, dma_bytes;
    char message[256]; /* of errors: engine, instruction, operation */
};
/* Runs the program to its end. */
void core_execute(struct core *core, const struct core_run *run, struct core_result *result);

/* For exchanges: combines `size` bytes at an offset of all inputs, element by element and in their
 * order; floats in FP32, rounded once. out must not be one of the inputs. */
void core_combine(enum dtype dtype, enum alu alu, uint8_t *out, const uint8_t *const *inputs,
                  uint32_t input_count, uint64_t offset, uint64_t size);

/* How cores perform a collective with this many ranks in all: "mesh" or "ring". */
const char *core_algorithm(const struct core_hardware *hardware,
                           const struct collective *collective, uint32_t rank_count);

#endif
