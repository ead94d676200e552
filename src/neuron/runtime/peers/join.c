/*
 * How processes find each other. Each connects to the root and says HELLO; the root's WELCOME lists
 * the processes that came before, to which the new one connects as well.
 */
#include "base/clock.h"
#include "neuron/runtime/peers/links.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { GREETING_MAX = 256, RETRY_MS = 4, RETRY_MOST_MS = 100, ACCEPT_AGAIN_MS = 100 };

/* ---- First messages ------------------------------------------------------------------------ */

static void add_number(struct output *out, uint32_t number)
{
    output_write(out, (const char *)&number, sizeof number);
}

/* With the lock held: the ranks at a place. */
static uint32_t add_ranks(const struct peers *peers, int32_t where, struct output *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < peers->options.rank_count; i++)
        if (peers->ranks[i] == where) {
            add_number(out, i);
            count++;
        }
    return count;
}

/* With the lock held: the beginning of a HELLO or WELCOME. */
static void add_hello(struct peers *peers, bool reads, struct output *out)
{
    struct hello hello = {.rank_count = peers->options.rank_count,
                          .segment =
                              peers->segment.file < 0 ? UINT32_MAX : (uint32_t)peers->segment.file,
                          .process = (uint32_t)getpid(),
                          .first_core = peers->options.first_core,
                          .core_count = peers->options.core_count,
                          .reads = reads};
    struct peer_address own = {0};
    memcpy(hello.token, peers->token, sizeof hello.token);
    memcpy(hello.node, peers->node, sizeof hello.node);
    memcpy(hello.nonce, peers->segment.nonce, sizeof hello.nonce);
    if (peers->has_session)
        memcpy(hello.session, peers->session, sizeof hello.session);
    if (peers->listener >= 0 && address_own(peers->listener, &own))
        hello.port = own.port;
    output_memory(out);
    output_write(out, (const char *)&hello, sizeof hello);
    hello.own_count = add_ranks(peers, PEERS_HERE, out);
    memcpy(out->data, &hello, sizeof hello);
}

static void add_entry(const struct peers *peers, const struct peer_address *address, int32_t where,
                      struct output *out)
{
    struct entry entry = {.address = *address, .is_gone = where == PEERS_GONE};
    size_t at = out->size;
    output_write(out, (const char *)&entry, sizeof entry);
    entry.rank_count = add_ranks(peers, where, out);
    memcpy(out->data + at, &entry, sizeof entry);
}

/* With the lock held, at the root: the processes that came before. */
static void add_entries(const struct peers *peers, struct output *out)
{
    struct hello hello;
    memcpy(&hello, out->data, sizeof hello);
    for (uint32_t i = 0; i < peers->link_count; i++)
        if (peers->links[i]->state == LINK_READY) {
            add_entry(peers, &peers->links[i]->address, (int32_t)i, out);
            hello.entry_count++;
        }
    add_entry(peers, &(struct peer_address){.family = 4}, PEERS_GONE, out);
    hello.entry_count++;
    memcpy(out->data, &hello, sizeof hello);
}

static bool refuse(const struct peers *peers, const struct link *link, enum refusal_reason reason)
{
    const struct peer_refusal refusal = {.reason = (uint32_t)reason,
                                         .rank_count = peers->options.rank_count};
    link_send_now(link, MESSAGE_REFUSED, &refusal, sizeof refusal);
    return false;
}

/* ---- Ready --------------------------------------------------------------------------------- */

static bool map_other(const struct peers *peers, struct link *link, const struct hello *hello)
{
    return memcmp(hello->node, peers->node, sizeof hello->node) == 0 &&
           hello->segment != UINT32_MAX &&
           mapping_open(&link->other, hello->process, hello->segment, hello->nonce);
}

/* With the lock held: the ranks of a new connection must be nobody's yet. */
static bool may_have(const struct peers *peers, const uint32_t *ranks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (ranks[i] >= peers->options.rank_count || peers->ranks[ranks[i]] != PEERS_UNKNOWN)
            return false;
    return peers->link_count < peers->options.rank_count;
}

/* With the lock held. */
static void make_ready(struct peers *peers, struct link *link, const struct hello *hello,
                       const uint32_t *ranks)
{
    link->index = peers->link_count;
    link->address.port = (uint16_t)hello->port;
    link->first_core = hello->first_core;
    link->core_count = hello->core_count;
    link->is_same_node = memcmp(hello->node, peers->node, sizeof hello->node) == 0;
    link->reads = hello->reads && peers->segment.file >= 0;
    link->state = LINK_READY;
    for (uint32_t i = 0; i < hello->own_count; i++)
        peers->ranks[ranks[i]] = (int32_t)link->index;
    peers->links[peers->link_count++] = link;
}

/* The answer is on its way before another thread can send something. */
static bool welcome(struct peers *peers, struct link *link, const struct hello *hello,
                    const uint32_t *ranks)
{
    struct output out;
    bool is_join = peers->is_root, may = false, sent = false;
    struct hello other = *hello;
    other.reads = 0; /* until it says so */
    bool reads = map_other(peers, link, hello);
    pthread_mutex_lock(&link->send_lock);
    pthread_mutex_lock(&peers->lock);
    may = may_have(peers, ranks, hello->own_count);
    if (may) {
        add_hello(peers, reads, &out);
        if (is_join)
            add_entries(peers, &out);
        make_ready(peers, link, &other, ranks);
    }
    pthread_mutex_unlock(&peers->lock);
    if (may) {
        sent = link_send_now(link, MESSAGE_WELCOME, out.data, out.size);
        output_discard(&out);
    }
    pthread_mutex_unlock(&link->send_lock);
    if (!may)
        return refuse(peers, link, REFUSED_RANK);
    peers->options.events.changed();
    return sent;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Everything in it may be a stranger's. A HELLO that comes before this process knows its session
 * waits; false ends the connection. */
static bool take_hello(struct peers *peers, struct link *link)
{
    struct hello hello;
    memcpy(&hello, link->content, sizeof hello);
    const void *behind = link->content + sizeof hello;
    const uint32_t *ranks = behind;
    if (hello.own_count == 0 || hello.own_count > PEERS_RANKS_MAX || hello.port > UINT16_MAX ||
        link->message.size != sizeof hello + hello.own_count * sizeof *ranks ||
        memcmp(hello.token, peers->token, sizeof hello.token) != 0) {
        peers_say(peers, false, "%s does not belong to this job: disconnected", link->name);
        return false;
    }
    if (hello.rank_count != peers->options.rank_count) {
        peers_say(peers, true, "%s has a rank of %u; the communicator at %s has %u", link->name,
                  hello.rank_count, peers->options.address, peers->options.rank_count);
        return refuse(peers, link, REFUSED_COUNT);
    }
    bool joins = is_zero(hello.session, sizeof hello.session);
    if (!peers->is_root && !joins && !peers->has_session) {
        link->state = LINK_WAITING;
        return true;
    }
    if (joins != peers->is_root ||
        (!joins && memcmp(hello.session, peers->session, sizeof hello.session) != 0))
        return refuse(peers, link, REFUSED_SESSION);
    return welcome(peers, link, &hello, ranks);
}

/* ---- Welcomed ------------------------------------------------------------------------------ */

static void lose_ranks(struct peers *peers, const uint32_t *ranks, uint32_t count)
{
    pthread_mutex_lock(&peers->lock);
    for (uint32_t i = 0; i < count; i++)
        if (peers->ranks[ranks[i]] == PEERS_UNKNOWN)
            peers->ranks[ranks[i]] = PEERS_GONE;
    pthread_mutex_unlock(&peers->lock);
    peers->options.events.changed();
}

static void connect_to(struct peers *peers, const struct peer_address *address,
                       const uint32_t *ranks, uint32_t count)
{
    int file = address_connect(address);
    if (file < 0) {
        lose_ranks(peers, ranks, count);
        return;
    }
    struct link *link = link_new(file, address, true);
    link->promised = mem_alloc(count * sizeof *ranks + 1);
    memcpy(link->promised, ranks, count * sizeof *ranks);
    link->promised_count = count;
    link_greet(peers, link);
}

/* The root's list. False: it is not one. */
static bool take_entries(struct peers *peers, const uint8_t *at, const uint8_t *end,
                         uint32_t entry_count)
{
    struct entry entry;
    for (uint32_t i = 0; i < entry_count; i++) {
        if ((size_t)(end - at) < sizeof entry)
            return false;
        memcpy(&entry, at, sizeof entry);
        at += sizeof entry;
        const void *behind = at;
        const uint32_t *ranks = behind;
        if ((size_t)(end - at) / sizeof *ranks < entry.rank_count ||
            (entry.address.family != 4 && entry.address.family != 6))
            return false;
        at += entry.rank_count * sizeof *ranks;
        for (uint32_t k = 0; k < entry.rank_count; k++)
            if (ranks[k] >= peers->options.rank_count)
                return false;
        if (entry.is_gone)
            lose_ranks(peers, ranks, entry.rank_count);
        else
            connect_to(peers, &entry.address, ranks, entry.rank_count);
    }
    return at == end;
}

/* Connections that came too early. */
static void greet_waiting(struct peers *peers)
{
    for (size_t i = 0; i < peers->greeting.count; i++) {
        struct link *link = peers->greeting.items[i];
        if (link->state != LINK_WAITING)
            continue;
        if (!take_hello(peers, link))
            shutdown(link->file, SHUT_RDWR);
        free(link->content);
        link->content = NULL;
        link->received = 0;
        if (link->state == LINK_WAITING)
            link->state = LINK_GREETING;
    }
}

/* send_lock is taken before peers->lock and held until the answer is out: nothing may be sent to
 * the new connection before it. */
static bool take_welcome(struct peers *peers, struct link *link)
{
    struct hello hello;
    struct output out;
    memcpy(&hello, link->content, sizeof hello);
    const void *behind = link->content + sizeof hello;
    const uint32_t *ranks = behind;
    const uint8_t *end = link->content + link->message.size;
    bool is_root = !link->promised;
    if (hello.own_count == 0 || hello.own_count > (link->message.size - sizeof hello) / 4 ||
        hello.rank_count != peers->options.rank_count || hello.port > UINT16_MAX ||
        memcmp(hello.token, peers->token, sizeof hello.token) != 0 ||
        is_zero(hello.session, sizeof hello.session) ||
        (!is_root && memcmp(hello.session, peers->session, sizeof hello.session) != 0))
        return false;
    uint32_t reads = map_other(peers, link, &hello);
    pthread_mutex_lock(&link->send_lock);
    pthread_mutex_lock(&peers->lock);
    bool may = may_have(peers, ranks, hello.own_count);
    if (may) {
        memcpy(peers->session, hello.session, sizeof peers->session);
        peers->has_session = true;
        make_ready(peers, link, &hello, ranks);
        output_memory(&out);
        add_ranks(peers, PEERS_HERE, &out);
    }
    pthread_mutex_unlock(&peers->lock);
    bool sent = may && link_send_now(link, MESSAGE_READS, &reads, sizeof reads) &&
                link_send_now(link, MESSAGE_RANKS, out.data, out.size);
    pthread_mutex_unlock(&link->send_lock);
    if (may)
        output_discard(&out);
    if (!sent || !take_entries(peers, (const uint8_t *)(ranks + hello.own_count), end,
                               is_root ? hello.entry_count : 0))
        return false;
    if (is_root) {
        peers->is_joining = false;
        greet_waiting(peers);
    }
    peers->options.events.changed();
    return true;
}

static bool take_refusal(struct peers *peers, struct link *link)
{
    struct peer_refusal refusal;
    memcpy(&refusal, link->content, sizeof refusal);
    if (refusal.reason == REFUSED_COUNT) {
        peers_say(peers, true, "the communicator at %s has %u ranks, not %u", link->name,
                  refusal.rank_count, peers->options.rank_count);
        pthread_mutex_lock(&peers->lock);
        peers->has_failed = true;
        pthread_mutex_unlock(&peers->lock);
        peers->options.events.changed();
    } else if (refusal.reason == REFUSED_RANK && peers->attempts == 1) {
        peers_say(peers, false,
                  "the communicator at %s has a rank of this process already: trying "
                  "again",
                  link->name);
    }
    return false;
}

bool join_take(struct peers *peers, struct link *link)
{
    switch ((enum message_kind)link->message.kind) {
    case MESSAGE_HELLO:
        return take_hello(peers, link);
    case MESSAGE_WELCOME:
        return take_welcome(peers, link);
    default:
        return take_refusal(peers, link);
    }
}

/* ---- Connections --------------------------------------------------------------------------- */

void join_root(struct peers *peers)
{
    if (peers->is_root || peers->is_joining || peers->has_session || peers->has_failed ||
        clock_monotonic_ms() < peers->join_at_ms)
        return;
    const struct peer_address *root = &peers->roots[peers->next_root++ % peers->root_count];
    int file = address_connect(root);
    peers->is_joining = true;
    peers->attempts++;
    struct link *link = link_new(file, root, true);
    if (file < 0) {
        join_failed(peers, link);
        link_free(link);
    } else {
        link_greet(peers, link);
    }
}

void join_accept(struct peers *peers)
{
    struct peer_address address = {.family = 4};
    int file = accept4(peers->listener, NULL, NULL, SOCK_CLOEXEC);
    if (file < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            peers->accept_at_ms = clock_monotonic_ms() + ACCEPT_AGAIN_MS;
        return;
    }
    address_other(file, &address);
    if (peers->greeting.count >= GREETING_MAX) { /* the one that has been silent longest goes */
        for (size_t i = 0; i < peers->greeting.count; i++)
            if (peers->greeting.items[i]->state == LINK_GREETING &&
                !peers->greeting.items[i]->is_outgoing) {
                shutdown(peers->greeting.items[i]->file, SHUT_RDWR);
                break;
            }
    }
    connection_tune(file, peers->options.timeout_s);
    link_greet(peers, link_new(file, &address, false));
}

/* A process listens at the address by which it reaches the root. */
static bool listen_beside(struct peers *peers, const struct link *link)
{
    struct peer_address own;
    if (peers->listener >= 0)
        return true;
    if (!address_own(link->file, &own))
        return false;
    own.port = 0;
    int listener = address_listen(&own);
    pthread_mutex_lock(&peers->lock);
    if (peers->listener < 0)
        peers->listener = listener;
    else if (listener >= 0)
        close(listener);
    pthread_mutex_unlock(&peers->lock);
    return peers->listener >= 0;
}

bool join_connected(struct peers *peers, struct link *link)
{
    int problem = 0;
    socklen_t size = sizeof problem;
    struct output out;
    if (getsockopt(link->file, SOL_SOCKET, SO_ERROR, &problem, &size) != 0 || problem != 0 ||
        !listen_beside(peers, link))
        return false;
    connection_tune(link->file, peers->options.timeout_s);
    pthread_mutex_lock(&peers->lock);
    add_hello(peers, false, &out);
    pthread_mutex_unlock(&peers->lock);
    bool sent = link_send_now(link, MESSAGE_HELLO, out.data, out.size);
    output_discard(&out);
    link->state = LINK_GREETING;
    return sent;
}

void join_failed(struct peers *peers, const struct link *link)
{
    if (!link->is_outgoing)
        return;
    if (link->promised) {
        lose_ranks(peers, link->promised, link->promised_count);
        return;
    }
    int64_t wait = (int64_t)RETRY_MS << (peers->attempts < 8 ? peers->attempts : 8);
    peers->is_joining = false;
    peers->join_at_ms = clock_monotonic_ms() + (wait < RETRY_MOST_MS ? wait : RETRY_MOST_MS);
}
