/*
 * Meetings: one exchange each, of which ranks of this process are members. Inputs of other
 * processes arrive by themselves, also before a rank of this process does.
 */
#ifndef KYMO_NEURON_RUNTIME_MEETINGS_H
#define KYMO_NEURON_RUNTIME_MEETINGS_H

#include "neuron/runtime/peers/peers.h"

struct meeting_id {
    uint64_t epoch, key, turn;
    uint32_t first_member;
};

struct arrival { /* of a member */
    bool is_there, is_remote;
    struct peers_bytes bytes; /* remote ones */
};

struct meeting {
    struct meeting *next;
    struct meeting_id id;
    uint32_t expected, arrived;
    uint32_t local;  /* of those that arrived, in this process */
    uint32_t inside; /* of those, still there */
    uint32_t left;   /* of those, no longer in need of the inputs */
    uint64_t size, latest;
    bool has_failed;
    const uint8_t **inputs;
    struct arrival *arrivals;
};

struct turn { /* how often a rank has exchanged with a key */
    struct turn *next;
    uint64_t key, count;
};

struct rank_state {
    bool is_local;        /* has begun here */
    uint64_t epoch, runs; /* of local ones */
    struct turn *turns;
    bool has_failed;
    uint64_t failed_epoch, failed_run;
};

struct world {
    struct world *next;
    uint32_t rank_count, unit;
    struct rank_state *ranks;
    struct meeting *meetings;
};

/* Everything with the lock of ranks.c held. */

/* The one of an exchange, new if needed; NULL: one exists with another number of members. */
struct meeting *meeting_get(struct world *world, const struct meeting_id *id, uint32_t expected);
/* False: that member is already there. Inputs of different sizes make the meeting fail. */
bool meeting_arrive(struct meeting *meeting, uint32_t position, const uint8_t *in, uint64_t size,
                    uint64_t ready, const struct peers_bytes *remote);
/* Removes it; its bytes of other processes go to the list, to be freed without the lock. */
struct freed {
    struct peers_bytes *items;
    size_t count, capacity;
};
void meeting_remove(struct world *world, struct meeting *meeting, struct freed *freed);
/* Removes those that are over for all ranks of this process. */
void meetings_purge(struct world *world, struct freed *freed);
/* Whether all ranks of this process are beyond the epoch. */
bool world_is_past(const struct world *world, uint64_t epoch);
/* Meetings that only ranks of other processes have come to. */
uint32_t world_strangers(const struct world *world);
/* Failures that are known: the epoch after them. */
uint64_t world_next_epoch(const struct world *world, uint64_t epoch);

/* The turn this rank is at, counted. */
uint64_t rank_next_turn(struct rank_state *state, uint64_t key);
void rank_forget_turns(struct rank_state *state);

/* Without the lock. peers may be NULL when nothing is shared. */
void freed_free(struct peers *peers, struct freed *freed);

#endif
