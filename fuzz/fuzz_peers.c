/*
 * Fuzz target: messages from other processes of a communicator. The first byte chooses what the
 * connection is; the token of first messages is corrected, so that what follows is looked at. New
 * connections are not made.
 */
#include "neuron/runtime/peers/links.h"

#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Replaces address_connect, with the linker's --wrap. */
int __wrap_address_connect(const struct peer_address *address);

enum { RANKS = 8, OWN_RANK = 1, MOST = 65536 };
enum { AT_ROOT, AT_OTHER, TO_ROOT, TO_OTHER, READY, STATES };

static struct peers peers;
static volatile uint8_t seen;

int __wrap_address_connect(const struct peer_address *address)
{
    seen ^= address->ip[0];
    return -1;
}

static void say(bool is_error, const char *line)
{
    seen ^= (uint8_t)line[is_error];
}

/* Reads every byte, and keeps none. */
static bool arrived(const struct peers_data *data, const struct peers_bytes *bytes)
{
    for (uint64_t i = 0; i < data->size; i++)
        seen ^= bytes->data[i];
    peers_free_bytes(&peers, bytes);
    return true;
}

static void failed(const struct peers_failure *failure)
{
    seen ^= (uint8_t)failure->rank;
}

static void changed(void)
{
    seen++;
}

static bool noted(uint32_t link, const struct peers_note *note, uint8_t *bytes)
{
    for (uint64_t i = 0; i < note->size; i++)
        seen ^= (uint8_t)(bytes[i] + link);
    free(bytes);
    return true;
}

static void set_up(void)
{
    peers.options = (struct peers_options){.address = "127.0.0.1:1",
                                           .key = "",
                                           .node = "",
                                           .rank_count = RANKS,
                                           .events = {say, arrived, failed, changed, noted}};
    pthread_mutex_init(&peers.lock, NULL);
    segment_open(&peers.segment);
    peers.ranks = mem_alloc(RANKS * sizeof *peers.ranks);
    peers.links = mem_zeroed(RANKS, sizeof *peers.links);
    peers.listener = peers.former_listener = peers.wake = -1;
    memset(peers.session, 5, sizeof peers.session);
}

static void begin(unsigned state)
{
    for (int i = 0; i < RANKS; i++)
        peers.ranks[i] = PEERS_UNKNOWN;
    peers.ranks[OWN_RANK] = PEERS_HERE;
    peers.link_count = 0;
    peers.is_root = state == AT_ROOT;
    peers.has_session = state != TO_ROOT;
    peers.has_failed = false;
}

/* A connection of rank 2, whose process is this one: it reads its own segment. */
static void make_ready(struct link *link)
{
    static const uint8_t bytes[5000] = {1, 2, 3};
    link->state = LINK_READY;
    link->reads = true;
    mapping_open(&link->other, (uint32_t)getpid(), (uint32_t)peers.segment.file,
                 peers.segment.nonce);
    places_add(&link->given, segment_put(&peers.segment, bytes, sizeof bytes, 1));
    peers.ranks[2] = 0;
    peers.links[0] = link;
    peers.link_count = 1;
}

static void correct(uint8_t *bytes, size_t size, unsigned state)
{
    struct peer_message message;
    if (size < sizeof message)
        return;
    memcpy(&message, bytes, sizeof message);
    message.magic = MESSAGE_MAGIC;
    message.version = MESSAGE_VERSION;
    memcpy(bytes, &message, sizeof message);
    if (state != READY && size >= sizeof message + sizeof peers.token)
        memcpy(bytes + sizeof message, peers.token, sizeof peers.token);
}

static void end(struct link *link)
{
    if (link->state == LINK_READY)
        link_end(&peers, link);
    link_free(link);
    for (size_t i = 0; i < peers.greeting.count; i++)
        link_free(peers.greeting.items[i]);
    peers.greeting.count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct peer_address address = {.family = 4};
    uint8_t bytes[MOST];
    int ends[2];
    if (!peers.ranks)
        set_up();
    if (size == 0 || size > MOST || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 0;
    unsigned state = data[0] % STATES;
    begin(state);
    struct link *link = link_new(ends[0], &address, state == TO_ROOT || state == TO_OTHER);
    link->state = LINK_GREETING;
    if (state == TO_OTHER)
        link->promised = mem_zeroed(1, sizeof *link->promised);
    if (state == READY)
        make_ready(link);
    memcpy(bytes, data + 1, size - 1);
    correct(bytes, size - 1, state);
    ssize_t sent = send(ends[1], bytes, size - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(ends[1]);
    while (sent > 0 && link_receive(&peers, link))
        ;
    end(link);
    return 0;
}
