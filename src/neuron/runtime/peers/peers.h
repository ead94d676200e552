/*
 * peers: the processes of a communicator. One listens at an address that all know; the others
 * connect there, learn of each other, and connect to each other. Each process announces its ranks.
 * Data goes through shared memory to processes of the same node, and through the connections to
 * others. A connection that ends means that the ranks of its process are gone.
 */
#ifndef KYMO_NEURON_RUNTIME_PEERS_PEERS_H
#define KYMO_NEURON_RUNTIME_PEERS_PEERS_H

#include "base/base.h"

enum { PEERS_RANKS_MAX = 1 << 16, PEERS_UNITS_MAX = 16 };

struct peers;

/* A rank's contribution to an exchange; sent over connections as it is. */
struct peers_data {
    uint64_t key, turn, epoch, run; /* which exchange */
    uint64_t ready;                 /* when the rank arrived, in simulated time */
    uint64_t size;                  /* of its bytes */
    uint32_t unit, rank, position, first_member, expected;
    uint32_t reserved;
};

struct peers_failure { /* of a rank: it comes to no more exchanges of this run */
    uint64_t epoch, run;
    uint32_t unit, rank;
};

/* Between cores of two processes, which define what they mean. */
struct peers_note {
    uint32_t kind, sender, receiver, number; /* the cores' numbers on their machines */
    uint64_t value, size;                    /* size: of the bytes that follow */
};

/* Bytes from another process, until peers_free_bytes. */
struct peers_bytes {
    const uint8_t *data;
    uint8_t *owned; /* NULL: shared memory of the other process */
    uint32_t link;
    uint64_t place;
};

/* Called by a thread of this module, without locks. */
struct peers_events {
    void (*say)(bool is_error, const char *line);
    /* Takes over the bytes; false: they are invalid, are not taken, and the connection ends. */
    bool (*arrived)(const struct peers_data *data, const struct peers_bytes *bytes);
    void (*failed)(const struct peers_failure *failure);
    void (*changed)(void); /* ranks came, or are gone */
    /* Takes over the bytes, to be freed with free(); false as above. */
    bool (*noted)(uint32_t link, const struct peers_note *note, uint8_t *bytes);
};

struct peers_options {
    const char *address; /* ip:port of the process of rank 0 */
    const char *key;     /* a secret that all processes share; "": none */
    const char *node;    /* name of this node; "": the machine's */
    uint32_t rank_count;
    uint32_t first_core, core_count; /* of this process, as the machine numbers them */
    uint64_t timeout_s;              /* of sending; 0: none */
    struct peers_events events;
};

/* Starts to look for the others. */
struct peers *peers_open(const struct peers_options *options, struct error *err);
/* Ends all connections; everything sent has then arrived. Only fork may use it meanwhile. */
void peers_close(struct peers *peers);
/* After peers_close; fork must not run meanwhile. */
void peers_free(struct peers *peers);
/* Around a fork: the child closes its descriptors of the connections, which are the parent's. */
void peers_before_fork(struct peers *peers);
void peers_after_fork(struct peers *peers, bool is_child);

/* A rank of this process; with rank 0 it listens at the address. */
bool peers_add_rank(struct peers *peers, uint32_t rank, struct error *err);
uint32_t peers_rank_count(const struct peers *peers);

enum { PEERS_HERE = -1, PEERS_UNKNOWN = -2, PEERS_GONE = -3 };
/* One of these, or the number of a connection. */
int32_t peers_locate(struct peers *peers, uint32_t rank);

/* The other process that has a core of the machine at an address: a connection, or UNKNOWN. */
int32_t peers_find_core(struct peers *peers, const char *ip, uint32_t core);
bool peers_is_there(struct peers *peers, uint32_t link);
void peers_send_note(struct peers *peers, uint32_t link, const struct peers_note *note,
                     const uint8_t *bytes);

/* Sends to each connection of the list; returns once the bytes may change. Those that ended are
 * left out. */
void peers_send(struct peers *peers, const int32_t *links, uint32_t link_count,
                const struct peers_data *data, const uint8_t *bytes);
void peers_send_failure(struct peers *peers, const struct peers_failure *failure);
/* NULL: from peers_close on. */
void peers_free_bytes(struct peers *peers, const struct peers_bytes *bytes);

#endif
