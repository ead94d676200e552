/*
 * What the files of this module share: messages, connections, and the state of a communicator.
 */
#ifndef KYMO_NEURON_RUNTIME_PEERS_LINKS_H
#define KYMO_NEURON_RUNTIME_PEERS_LINKS_H

#include "neuron/runtime/peers/address.h"
#include "neuron/runtime/peers/peers.h"
#include "neuron/runtime/peers/segment.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- Messages: a header, its content, bytes ---------------------------------------------------
 */

enum { MESSAGE_MAGIC = 0x4B52414E, MESSAGE_VERSION = 1 };

enum message_kind {
    /* The first two messages of a connection, one in each direction. */
    MESSAGE_HELLO = 1, /* struct hello, its ranks */
    MESSAGE_WELCOME,   /* struct hello, its ranks; entries and their ranks */
    MESSAGE_REFUSED,   /* struct peer_refusal */
    /* Then, in both directions. */
    MESSAGE_READS,   /* uint32_t: whether the sender can read the receiver's segment */
    MESSAGE_RANKS,   /* uint32_t each: the sender's ranks */
    MESSAGE_DATA,    /* struct peers_data, its bytes */
    MESSAGE_PLACED,  /* struct peers_data, uint64_t place in the sender's segment */
    MESSAGE_FREED,   /* uint64_t each: places that the sender no longer reads */
    MESSAGE_FAILURE, /* struct peers_failure */
    MESSAGE_NOTE,    /* struct peers_note, its bytes */
};

struct peer_message {
    uint32_t magic;
    uint16_t version, kind;
    uint64_t size; /* of what follows */
};
static_assert(sizeof(struct peer_message) == 16, "goes over connections");
static_assert(sizeof(struct peers_data) == 72, "goes over connections");
static_assert(sizeof(struct peers_failure) == 24, "goes over connections");
static_assert(sizeof(struct peers_note) == 32, "goes over connections");

enum { ID_SIZE = 16 };

struct hello {
    uint8_t token[SHA256_SIZE]; /* of the key */
    uint8_t node[SHA256_SIZE];
    uint8_t session[ID_SIZE]; /* zeros: to join at the root */
    uint8_t nonce[SEGMENT_NONCE];
    uint32_t segment; /* descriptor, UINT32_MAX: none */
    uint32_t process;
    uint32_t rank_count;
    uint32_t port;        /* at which it listens */
    uint32_t reads;       /* WELCOME: whether the sender can read the receiver's segment */
    uint32_t own_count;   /* ranks behind this */
    uint32_t entry_count; /* WELCOME of the root: entries behind those */
    uint32_t first_core, core_count;
    uint32_t reserved;
};
static_assert(sizeof(struct hello) == 136, "goes over connections");

struct entry { /* a process that came before; rank_count ranks follow */
    struct peer_address address;
    uint32_t rank_count;
    uint32_t is_gone; /* its ranks are */
};
static_assert(sizeof(struct entry) == 28, "goes over connections");

enum refusal_reason { REFUSED_COUNT = 1, REFUSED_RANK, REFUSED_SESSION };
struct peer_refusal {
    uint32_t reason, rank_count;
};

/* ---- Connections ------------------------------------------------------------------------------
 */

struct places {
    uint64_t *items;
    size_t count, capacity;
};

enum link_state {
    LINK_CONNECTING, /* the first is sent when it is there */
    LINK_GREETING,   /* the other's first message is awaited */
    LINK_WAITING,    /* it was received too early */
    LINK_READY,
    LINK_DEAD,
};

struct link {
    int file;
    enum link_state state;
    bool is_outgoing;
    struct peer_address address; /* outgoing: whom it connects to; ready: where the other listens */
    char name[ADDRESS_TEXT];
    int64_t deadline_ms; /* of the greeting */
    /* Ranks of the process it connects to, which are gone if that fails. */
    uint32_t *promised;
    uint32_t promised_count;
    /* What is received: the header, then its content. */
    struct peer_message message;
    uint8_t *content; /* NULL: the header is incomplete */
    size_t capacity;  /* of the content, which grows as it arrives */
    size_t received;  /* of the header or the content */
    /* Of ready ones. */
    uint32_t index;
    uint32_t first_core, core_count;
    bool is_same_node;
    pthread_mutex_t send_lock;
    struct segment_mapping other; /* the other's segment */
    bool reads;                   /* the other reads ours; guarded by peers->lock as the next two */
    struct places given;          /* places of ours that the other reads */
    struct places done;           /* places of the other that are to be freed */
};

struct peers {
    struct peers_options options;
    struct peer_address *roots; /* what the address may mean */
    size_t root_count, next_root;
    uint8_t token[SHA256_SIZE], node[SHA256_SIZE];
    struct segment segment;
    pthread_t thread;
    int wake; /* eventfd */

    pthread_mutex_t lock;
    int32_t *ranks;      /* where each is */
    struct link **links; /* ready or dead; there is room for rank_count of them */
    atomic_uint link_count;
    ARRAY(struct link *) greeting; /* changed by the thread alone */
    atomic_int listener;
    int former_listener;
    uint8_t session[ID_SIZE];
    atomic_bool is_root, has_session, has_failed, is_closing;
    _Atomic int64_t join_at_ms;

    /* Of the thread alone. */
    bool is_joining; /* connecting to the root */
    int64_t accept_at_ms;
    uint32_t attempts;
};

void peers_say(const struct peers *peers, bool is_error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* links.c: connections. */
struct link *link_new(int file, const struct peer_address *address, bool is_outgoing);
void link_free(struct link *link);
/* Of its first message, which fits; false: it cannot be sent now. */
bool link_send_now(const struct link *link, enum message_kind kind, const void *content,
                   size_t size);
/* Waits until all is sent; if it cannot be, the connection ends. */
void link_send(struct peers *peers, struct link *link, enum message_kind kind, const void *content,
               size_t size, const void *bytes, size_t byte_count);
/* A ready connection ended: its ranks are gone. */
void link_end(struct peers *peers, struct link *link);
void places_add(struct places *places, uint64_t place);
bool places_remove(struct places *places, uint64_t place);

/* receive.c: takes what has arrived. False: the connection is over. */
bool link_receive(struct peers *peers, struct link *link);

/* Adds a connection that is not yet ready. */
void link_greet(struct peers *peers, struct link *link);

/* join.c: the beginning of connections. */
/* Connects to the root if it is time. */
void join_root(struct peers *peers);
void join_accept(struct peers *peers);
/* An outgoing connection is established; false: it failed. */
bool join_connected(struct peers *peers, struct link *link);
/* The first message of the other is complete. True: the connection is ready, or waits. */
bool join_take(struct peers *peers, struct link *link);
/* A connection ended before it was ready. */
void join_failed(struct peers *peers, const struct link *link);

/* loop.c */
void *peers_main(void *argument);

#endif
