/*
 * Ranks: cores that exchange data. Here they are cores of one process; another transport would
 * replace rank_exchange.
 */
#ifndef KYMO_NRT_RUNTIME_RANKS_H
#define KYMO_NRT_RUNTIME_RANKS_H

#include "neuroncore/neuroncore.h"
#include "nrt/runtime/runtime.h"

struct world; /* all ranks of a communicator */

/* The world of so many ranks. `unit` tells apart the physical cores of logical ones, which have
 * worlds of their own, and the host's. */
enum { WORLD_HOST = LOGICAL_MAX, WORLD_QUEUE, WORLD_UNITS };
struct world *world_get(uint32_t rank_count, uint32_t unit);

/* Around everything in which a rank exchanges. An end that failed makes the others fail as well,
 * until all have ended. */
void rank_begin(struct world *world);
void rank_end(struct world *world, bool failed);

struct exchange {
    uint64_t key; /* what meets: equal for all ranks of one exchange */
    const uint32_t *members;
    uint32_t member_count; /* 0: all ranks */
    uint32_t rank;
    const uint8_t *in;
    uint64_t ready;
    /* Called when all have arrived, with the inputs in the order of members; NULL: nothing. */
    void (*combine)(void *context, const uint8_t *const *inputs, uint32_t count);
    void *context;
};
/* Waits for all members. False: a rank failed, or did not come within the timeout. */
bool rank_exchange(struct world *world, const struct exchange *exchange, uint64_t *all_ready);

/* core_exchange.run; the context is a struct rank. */
struct rank {
    struct world *world;
    uint32_t number, count;
};
bool rank_run_collective(void *context, const struct collective *collective, uint32_t index,
                         const uint8_t *in, uint8_t *out, uint64_t ready, uint64_t *all_ready);

void ranks_wake(void);
void ranks_close(void);

#endif
