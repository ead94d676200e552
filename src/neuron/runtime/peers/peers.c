/*
 * A communicator of processes, as other threads use it.
 */
#include "neuron/runtime/peers/links.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
    INLINE_MAX = 4096, /* bytes that go with the message even if memory is shared */
    DONE_MAX = 16,     /* places that are kept for the next message */
};

/* ---- Open and close ------------------------------------------------------------------------ */

/* Processes of one machine that call their node the same. */
static void name_node(struct peers *peers)
{
    char boot[64] = "";
    struct sha256 sha;
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, boot, sizeof boot) : 0;
    if (file >= 0)
        close(file);
    sha256_begin(&sha);
    sha256_add(&sha, boot, size > 0 ? (size_t)size : 0);
    sha256_add(&sha, peers->options.node, strlen(peers->options.node));
    sha256_end(&sha, peers->node);
}

static void make_token(struct peers *peers)
{
    static const char what[] = "Kymo ranks";
    struct sha256 sha;
    sha256_begin(&sha);
    sha256_add(&sha, what, sizeof what);
    sha256_add(&sha, peers->options.key, strlen(peers->options.key));
    sha256_end(&sha, peers->token);
}

/* The program's signals are not for this thread. */
static bool start_thread(struct peers *peers)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int problem = pthread_create(&peers->thread, NULL, peers_main, peers);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return problem == 0;
}

void peers_free(struct peers *peers)
{
    for (uint32_t i = 0; i < peers->link_count; i++)
        link_free(peers->links[i]);
    for (size_t i = 0; i < peers->greeting.count; i++)
        link_free(peers->greeting.items[i]);
    array_free(&peers->greeting);
    segment_close(&peers->segment);
    if (peers->listener >= 0)
        close(peers->listener);
    if (peers->former_listener >= 0)
        close(peers->former_listener);
    if (peers->wake >= 0)
        close(peers->wake);
    pthread_mutex_destroy(&peers->lock);
    mem_free((void *)peers->links);
    mem_free(peers->ranks);
    mem_free(peers->roots);
    mem_free(peers);
}

/* The thread starts here but connects to nobody before the first rank of this process is known.
 * Addresses are resolved first: that is what users get wrong. */
struct peers *peers_open(const struct peers_options *options, struct error *err)
{
    if (options->rank_count > PEERS_RANKS_MAX) {
        error_set(err, "a communicator has at most %d ranks", PEERS_RANKS_MAX);
        return NULL;
    }
    size_t root_count;
    struct peer_address *roots = addresses_of(options->address, &root_count, err);
    if (!roots)
        return NULL;
    struct peers *peers = mem_zeroed(1, sizeof *peers);
    peers->options = *options;
    peers->roots = roots;
    peers->root_count = root_count;
    peers->listener = peers->former_listener = -1;
    pthread_mutex_init(&peers->lock, NULL);
    segment_open(&peers->segment);
    name_node(peers);
    make_token(peers);
    peers->links = mem_zeroed(options->rank_count, sizeof *peers->links);
    peers->ranks = mem_alloc(options->rank_count * sizeof *peers->ranks);
    for (uint32_t i = 0; i < options->rank_count; i++)
        peers->ranks[i] = PEERS_UNKNOWN;
    peers->join_at_ms = INT64_MAX; /* not before it has a rank */
    peers->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (peers->wake >= 0 && start_thread(peers))
        return peers;
    error_set(err, "cannot start the thread of the communicator: %s", strerror(errno));
    peers_free(peers);
    return NULL;
}

static void wake(const struct peers *peers)
{
    static const uint64_t one = 1;
    ssize_t ignored = write(peers->wake, &one, sizeof one);
    (void)ignored;
}

void peers_close(struct peers *peers)
{
    peers->is_closing = true;
    wake(peers);
    pthread_join(peers->thread, NULL);
}

void peers_before_fork(struct peers *peers)
{
    pthread_mutex_lock(&peers->lock);
}

void peers_after_fork(struct peers *peers, bool is_child)
{
    for (uint32_t i = 0; is_child && i < peers->link_count; i++)
        close(peers->links[i]->file);
    for (size_t i = 0; is_child && i < peers->greeting.count; i++)
        if (peers->greeting.items[i])
            close(peers->greeting.items[i]->file);
    if (is_child && peers->listener >= 0)
        close(peers->listener);
    pthread_mutex_unlock(&peers->lock);
}

/* ---- Ranks --------------------------------------------------------------------------------- */

/* With the lock held: listens where all look for rank 0. */
static bool become_root(struct peers *peers, struct error *err)
{
    int listener = -1;
    for (size_t i = 0; i < peers->root_count && listener < 0; i++) {
        struct peer_address address = peers->roots[i]; /* the thread may be reading it */
        listener = address_listen(&address);
    }
    if (listener < 0)
        return error_set(err, "cannot listen at %s: %s", peers->options.address, strerror(errno));
    if (getrandom(peers->session, sizeof peers->session, 0) != sizeof peers->session) {
        close(listener);
        return error_set(err, "no random numbers: %s", strerror(errno));
    }
    peers->former_listener = peers->listener; /* the thread may be waiting for it */
    peers->listener = listener;
    peers->is_root = peers->has_session = true;
    return true;
}

/* With the lock held: the connections to tell. */
static struct link **ready_links(const struct peers *peers, uint32_t *count)
{
    struct link **links = mem_zeroed(peers->link_count + 1, sizeof *links);
    *count = 0;
    for (uint32_t i = 0; i < peers->link_count; i++)
        if (peers->links[i]->state == LINK_READY)
            links[(*count)++] = peers->links[i];
    return links;
}

static void send_to_all(struct peers *peers, enum message_kind kind, const void *content,
                        size_t size)
{
    uint32_t count;
    pthread_mutex_lock(&peers->lock);
    struct link **links = ready_links(peers, &count);
    pthread_mutex_unlock(&peers->lock);
    for (uint32_t i = 0; i < count; i++)
        link_send(peers, links[i], kind, content, size, NULL, 0);
    mem_free((void *)links);
}

bool peers_add_rank(struct peers *peers, uint32_t rank, struct error *err)
{
    pthread_mutex_lock(&peers->lock);
    int32_t where = peers->ranks[rank];
    bool ok = where == PEERS_HERE ||
              (where == PEERS_UNKNOWN ||
               error_set(err, "rank %u of the communicator at %s is in another process", rank,
                         peers->options.address));
    if (ok && where != PEERS_HERE && rank == 0)
        ok = become_root(peers, err);
    if (ok) {
        peers->ranks[rank] = PEERS_HERE;
        if (peers->join_at_ms == INT64_MAX)
            peers->join_at_ms = 0;
    }
    pthread_mutex_unlock(&peers->lock);
    if (!ok || where == PEERS_HERE)
        return ok;
    wake(peers);
    send_to_all(peers, MESSAGE_RANKS, &rank, sizeof rank);
    peers->options.events.changed();
    return true;
}

uint32_t peers_rank_count(const struct peers *peers)
{
    return peers->options.rank_count;
}

/* ---- Data ---------------------------------------------------------------------------------- */

/* With the lock held. */
static bool is_reader(const struct peers *peers, int32_t link)
{
    return peers->links[link]->state == LINK_READY && peers->links[link]->reads;
}

/* A copy in shared memory for those who can read it. */
static uint64_t place_bytes(struct peers *peers, const int32_t *links, uint32_t count,
                            const uint8_t *bytes, uint64_t size, bool *is_placed)
{
    uint32_t readers = 0;
    pthread_mutex_lock(&peers->lock);
    for (uint32_t i = 0; i < count; i++) {
        is_placed[i] = size > INLINE_MAX && is_reader(peers, links[i]);
        readers += is_placed[i];
    }
    pthread_mutex_unlock(&peers->lock);
    uint64_t place =
        readers > 0 ? segment_put(&peers->segment, bytes, size, readers) : SEGMENT_NOWHERE;
    pthread_mutex_lock(&peers->lock);
    for (uint32_t i = 0; i < count; i++) {
        if (place == SEGMENT_NOWHERE)
            is_placed[i] = false;
        else if (is_placed[i] && is_reader(peers, links[i]))
            places_add(&peers->links[links[i]]->given, place);
        else if (is_placed[i])
            segment_free(&peers->segment, place);
    }
    pthread_mutex_unlock(&peers->lock);
    return place;
}

void peers_send(struct peers *peers, const int32_t *links, uint32_t link_count,
                const struct peers_data *data, const uint8_t *bytes)
{
    bool *is_placed = mem_zeroed(link_count + 1, sizeof *is_placed);
    uint64_t place = place_bytes(peers, links, link_count, bytes, data->size, is_placed);
    for (uint32_t i = 0; i < link_count; i++) {
        struct link *link = peers->links[links[i]];
        if (is_placed[i])
            link_send(peers, link, MESSAGE_PLACED, data, sizeof *data, &place, sizeof place);
        else
            link_send(peers, link, MESSAGE_DATA, data, sizeof *data, bytes, data->size);
    }
    mem_free(is_placed);
}

void peers_send_failure(struct peers *peers, const struct peers_failure *failure)
{
    send_to_all(peers, MESSAGE_FAILURE, failure, sizeof *failure);
}

void peers_free_bytes(struct peers *peers, const struct peers_bytes *bytes)
{
    if (bytes->owned) {
        free(bytes->owned);
        return;
    }
    if (!peers)
        return;
    pthread_mutex_lock(&peers->lock);
    struct link *link = peers->links[bytes->link];
    bool is_ready = link->state == LINK_READY;
    if (is_ready)
        places_add(&link->done, bytes->place);
    bool is_full = link->done.count >= DONE_MAX;
    pthread_mutex_unlock(&peers->lock);
    if (is_ready && is_full)
        link_send(peers, link, MESSAGE_FREED, NULL, 0, NULL, 0);
}

/* ---- Cores --------------------------------------------------------------------------------- */

static bool is_loopback(const struct peer_address *address)
{
    static const uint8_t own6[16] = {[15] = 1};
    return address->family == 4 ? address->ip[0] == 127 : memcmp(address->ip, own6, 16) == 0;
}

/* Processes of one machine may reach each other by any of its addresses. */
static bool is_at(const struct link *link, const struct peer_address *address)
{
    return (link->address.family == address->family &&
            memcmp(link->address.ip, address->ip, sizeof address->ip) == 0) ||
           (link->is_same_node && is_loopback(address));
}

int32_t peers_find_core(struct peers *peers, const char *ip, uint32_t core)
{
    char text[ADDRESS_TEXT + 8];
    struct error err;
    size_t count = 0;
    int32_t found = PEERS_UNKNOWN;
    snprintf(text, sizeof text, strchr(ip, ':') ? "[%s]:1" : "%s:1", ip);
    struct peer_address *addresses = addresses_of(text, &count, &err);
    pthread_mutex_lock(&peers->lock);
    for (uint32_t i = 0; i < peers->link_count; i++)
        for (size_t k = 0; k < count; k++) {
            const struct link *link = peers->links[i];
            if (link->state == LINK_READY && core - link->first_core < link->core_count &&
                is_at(link, &addresses[k]) && (found < 0 || link->is_same_node))
                found = (int32_t)i;
        }
    pthread_mutex_unlock(&peers->lock);
    mem_free(addresses);
    return found;
}

bool peers_is_there(struct peers *peers, uint32_t link)
{
    pthread_mutex_lock(&peers->lock);
    bool is_there = peers->links[link]->state == LINK_READY;
    pthread_mutex_unlock(&peers->lock);
    return is_there;
}

void peers_send_note(struct peers *peers, uint32_t link, const struct peers_note *note,
                     const uint8_t *bytes)
{
    link_send(peers, peers->links[link], MESSAGE_NOTE, note, sizeof *note, bytes, note->size);
}
