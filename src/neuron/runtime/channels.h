/*
 * Channels of nrt_async_sendrecv.h: each joins the communicator of a sender and that of a receiver,
 * of this process or one of them of another. Sends and receives meet in their order.
 */
#ifndef KYMO_NEURON_RUNTIME_CHANNELS_H
#define KYMO_NEURON_RUNTIME_CHANNELS_H

#include "neuron/runtime/peers/peers.h"
#include "neuron/runtime/tensor.h"

enum { COMMUNICATORS_MAX = 64, PENDING_MAX = 128, SENDER = 0, RECEIVER = 1 };

struct channel_message { /* nrt_async_sendrecv_request_t */
    struct object object;
    struct channel_message *next;
    struct tensor *tensor; /* NULL: bytes of another process */
    uint8_t *bytes;
    struct view view, part;
    size_t transferred;
    int core; /* whose request it is, -1: of another process */
    bool is_done, has_failed;
};

struct channel {
    struct channel *next;
    unsigned references;
    int cores[2]; /* of sender and receiver: indices, of remote channels numbers on machines */
    bool is_open[2], was_open[2];
    struct channel_message *first[2], **last[2]; /* references */
    unsigned queued;
    /* One side is in another process. */
    bool is_remote;
    uint32_t link, number;
};

extern pthread_mutex_t channels_lock;
extern int channels_pending[CORES_MAX]; /* requests of each core; with the lock held */

struct channel_message *message_new(struct tensor *tensor, int core);

/* With the lock held. */

/* The oldest of two cores of this process without this side, or a new one. */
struct channel *channel_join(int side, int sender, int receiver);
/* The next of two cores, of which the side is in this process. */
struct channel *channel_join_remote(int side, uint32_t link, int sender, int receiver);
/* Messages that will never be answered end as failures. */
void channel_leave(struct channel *channel, int side);
/* A request; the channel takes a reference. */
void channel_add(struct channel *channel, int side, struct channel_message *message);

/* Without the lock. */

/* A request to send to another process; the caller has begun a copy of its tensor. */
void channel_send(struct peers *peers, struct channel *channel, struct channel_message *message);
/* Takes messages that arrived from other processes, and sends those that wait. Ends requests to
 * processes that are gone. Without other processes: only messages that wait for executions. */
void channels_progress(struct peers *peers);

/* peers_events.noted */
bool channels_noted(uint32_t link, const struct peers_note *note, uint8_t *bytes);
void channels_close(void);

#endif
