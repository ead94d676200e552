/*
 * Ranks: cores that exchange data, of this process and of others. Each rank gives its input, waits
 * for the others, and combines all inputs.
 */
#ifndef KYMO_NEURON_RUNTIME_RANKS_H
#define KYMO_NEURON_RUNTIME_RANKS_H

#include "neuron/runtime/runtime.h"
#include "neuron/simulator/neuroncore.h"

struct world; /* all ranks of a communicator */

/* The world of this many ranks. `unit` distinguishes the physical cores of logical ones, which have
 * worlds of their own, and the host's. */
enum { WORLD_HOST = LOGICAL_MAX, WORLD_QUEUE, WORLD_UNITS };
struct world *world_get(uint32_t rank_count, uint32_t unit);

/* A rank of this process comes; if ranks may be in other processes (NEURON_RT_ROOT_COMM_ID), it
 * looks for them. Any number of times. */
NRT_STATUS rank_join(uint32_t rank, uint32_t rank_count);

/* One run of a rank, in which it exchanges. Filled by rank_begin, but for the first three. */
struct rank {
    struct world *world;
    uint32_t number, count;
    uint64_t epoch, run;
    bool is_fresh; /* it has not yet exchanged in this run */
};
/* If the run failed, ranks that wait for this one in this run fail, too. */
void rank_begin(struct rank *rank);
void rank_end(struct rank *rank, bool failed);

struct exchange {
    uint64_t key; /* what meets: equal for all ranks of one exchange */
    const uint32_t *members;
    uint32_t member_count; /* 0: all ranks */
    const uint8_t *in;
    uint64_t size; /* of the input, the same for all ranks */
    uint64_t ready;
    /* Called when all have arrived, with the inputs in the order of members; NULL: nothing. */
    void (*combine)(void *context, const uint8_t *const *inputs, uint32_t count);
    void *context;
};
enum exchange_result {
    EXCHANGE_DONE,
    EXCHANGE_LATE, /* a rank did not come within the timeout */
    EXCHANGE_GONE, /* a rank failed or is gone, or nrt_close waits */
};
/* Waits for all members. */
enum exchange_result rank_exchange(struct rank *rank, const struct exchange *exchange,
                                   uint64_t *all_ready);

/* The input of an exchange, or a copy of it where it overlaps the output, which is written while
 * other ranks still read the input. The caller frees *copy. */
const uint8_t *input_apart(const uint8_t *in, uint64_t size, const uint8_t *out, uint64_t out_size,
                           uint8_t **copy);

/* core_exchange.run; the context is a struct rank. */
bool rank_run_collective(void *context, const struct collective *collective, uint32_t index,
                         const uint8_t *in, uint8_t *out, uint64_t ready, uint64_t *all_ready);

struct peers; /* the processes of the ranks */
/* NULL: all ranks are in this process, or none has come. Valid during calls of the runtime. */
struct peers *ranks_peers(void);

void ranks_wake(void);
void ranks_close(void);
/* Around a fork. */
void ranks_before_fork(void);
void ranks_after_fork(bool is_child);

#endif
