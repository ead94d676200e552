/*
 * What arrives. Every byte may be a stranger's: sizes and numbers are checked before they are used.
 */
#include "neuron/runtime/peers/links.h"

#include <errno.h>
#include <stdlib.h>

enum { STAGE = 64 << 10, FIRST_ROOM = 1 << 20, FREED_MAX = 1 << 16, PIECES = 64 };
static const uint64_t most_bytes = UINT64_C(1) << 40;

/* ---- Messages of ready connections --------------------------------------------------------- */

static bool is_rank_of(struct peers *peers, const struct link *link, uint32_t rank)
{
    return rank < peers->options.rank_count && peers_locate(peers, rank) == (int32_t)link->index;
}

static bool take_ranks(struct peers *peers, const struct link *link, const uint32_t *ranks,
                       size_t count)
{
    bool ok = true;
    pthread_mutex_lock(&peers->lock);
    for (size_t i = 0; ok && i < count; i++) {
        ok = ranks[i] < peers->options.rank_count &&
             (peers->ranks[ranks[i]] == PEERS_UNKNOWN ||
              peers->ranks[ranks[i]] == (int32_t)link->index);
        if (ok)
            peers->ranks[ranks[i]] = (int32_t)link->index;
    }
    pthread_mutex_unlock(&peers->lock);
    peers->options.events.changed();
    return ok;
}

static bool take_freed(struct peers *peers, struct link *link, const uint64_t *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&peers->lock);
        bool was_given = places_remove(&link->given, places[i]);
        pthread_mutex_unlock(&peers->lock);
        if (!was_given)
            return false;
        segment_free(&peers->segment, places[i]);
    }
    return true;
}

/* The content becomes the property of whoever takes the bytes. */
static bool take_data(struct peers *peers, struct link *link)
{
    struct peers_data data;
    struct peers_bytes bytes = {.link = link->index, .place = SEGMENT_NOWHERE};
    memcpy(&data, link->content, sizeof data);
    if (!is_rank_of(peers, link, data.rank) || data.unit >= PEERS_UNITS_MAX ||
        data.expected > peers->options.rank_count || data.position >= data.expected ||
        data.first_member >= peers->options.rank_count)
        return false;
    if (link->message.kind == MESSAGE_PLACED) {
        memcpy(&bytes.place, link->content + sizeof data, sizeof bytes.place);
        bytes.data = mapping_at(&link->other, bytes.place, data.size);
        return bytes.data && peers->options.events.arrived(&data, &bytes);
    }
    if (data.size != link->message.size - sizeof data)
        return false;
    bytes.data = link->content + sizeof data;
    bytes.owned = link->content;
    if (!peers->options.events.arrived(&data, &bytes))
        return false;
    link->content = NULL;
    return true;
}

static bool take_failure(struct peers *peers, const struct link *link)
{
    struct peers_failure failure;
    memcpy(&failure, link->content, sizeof failure);
    if (!is_rank_of(peers, link, failure.rank) || failure.unit >= PEERS_UNITS_MAX)
        return false;
    peers->options.events.failed(&failure);
    return true;
}

static bool take_reads(struct peers *peers, struct link *link)
{
    uint32_t reads;
    memcpy(&reads, link->content, sizeof reads);
    pthread_mutex_lock(&peers->lock);
    link->reads = reads && peers->segment.file >= 0;
    pthread_mutex_unlock(&peers->lock);
    return true;
}

/* The content becomes the property of whoever takes it; the bytes move to its beginning. */
static bool take_note(struct peers *peers, struct link *link)
{
    struct peers_note note;
    memcpy(&note, link->content, sizeof note);
    if (note.size != link->message.size - sizeof note)
        return false;
    memmove(link->content, link->content + sizeof note, note.size);
    if (!peers->options.events.noted(link->index, &note, link->content))
        return false;
    link->content = NULL;
    return true;
}

static bool take_message(struct peers *peers, struct link *link)
{
    const void *content = link->content;
    if (link->state == LINK_GREETING)
        return join_take(peers, link);
    switch ((enum message_kind)link->message.kind) {
    case MESSAGE_READS:
        return take_reads(peers, link);
    case MESSAGE_RANKS:
        return take_ranks(peers, link, content, link->message.size / sizeof(uint32_t));
    case MESSAGE_DATA:
    case MESSAGE_PLACED:
        return take_data(peers, link);
    case MESSAGE_FREED:
        return take_freed(peers, link, content, link->message.size / sizeof(uint64_t));
    case MESSAGE_FAILURE:
        return take_failure(peers, link);
    case MESSAGE_NOTE:
        return take_note(peers, link);
    default:
        return false;
    }
}

/* ---- Bytes --------------------------------------------------------------------------------- */

static bool is_between(uint64_t size, uint64_t least, uint64_t most, uint64_t unit)
{
    return size >= least && size <= most && (size - least) % unit == 0;
}

/* Whether a message may come now and have this size. */
static bool may_come(const struct peers *peers, const struct link *link)
{
    enum { ENTRY_MOST = sizeof(struct entry) + 2 * sizeof(uint32_t) };
    const struct peer_message *message = &link->message;
    uint64_t size = message->size, ranks = peers->options.rank_count;
    if (message->magic != MESSAGE_MAGIC || message->version != MESSAGE_VERSION)
        return false;
    if (link->state == LINK_GREETING && !link->is_outgoing)
        return message->kind == MESSAGE_HELLO &&
               is_between(size, sizeof(struct hello),
                          sizeof(struct hello) + PEERS_RANKS_MAX * sizeof(uint32_t),
                          sizeof(uint32_t));
    if (link->state == LINK_GREETING)
        return message->kind == MESSAGE_REFUSED
                   ? size == sizeof(struct peer_refusal)
                   : message->kind == MESSAGE_WELCOME &&
                         is_between(size, sizeof(struct hello),
                                    sizeof(struct hello) + (ranks + 1) * ENTRY_MOST,
                                    sizeof(uint32_t));
    if (link->state != LINK_READY)
        return false;
    switch ((enum message_kind)message->kind) {
    case MESSAGE_READS:
        return size == sizeof(uint32_t);
    case MESSAGE_RANKS:
        return is_between(size, 0, ranks * sizeof(uint32_t), sizeof(uint32_t));
    case MESSAGE_DATA:
        return is_between(size, sizeof(struct peers_data), most_bytes, 1);
    case MESSAGE_PLACED:
        return size == sizeof(struct peers_data) + sizeof(uint64_t);
    case MESSAGE_FREED:
        return is_between(size, 0, FREED_MAX * sizeof(uint64_t), sizeof(uint64_t));
    case MESSAGE_FAILURE:
        return size == sizeof(struct peers_failure);
    case MESSAGE_NOTE:
        return is_between(size, sizeof(struct peers_note), most_bytes, 1);
    default:
        return false;
    }
}

/* Room for more of the content: memory grows only with the bytes that have arrived, not with the
 * size a sender claims. */
static bool make_room(const struct peers *peers, struct link *link)
{
    size_t size = link->message.size, twice = 2 * link->capacity;
    size_t capacity = twice > FIRST_ROOM ? twice : FIRST_ROOM;
    capacity = capacity < size ? capacity : size;
    uint8_t *content = realloc(link->content, capacity ? capacity : 1);
    if (!content) {
        peers_say(peers, true, "out of memory for %zu bytes from %s", capacity, link->name);
        return false;
    }
    link->content = content;
    link->capacity = capacity;
    return true;
}

/* The header of a message is there. */
static bool begin_content(const struct peers *peers, struct link *link)
{
    if (!may_come(peers, link)) {
        peers_say(peers, false,
                  "%s sent data that is not a message of a communicator: disconnected", link->name);
        return false;
    }
    link->received = link->capacity = 0;
    return make_room(peers, link);
}

static bool end_content(struct peers *peers, struct link *link)
{
    bool ok = take_message(peers, link);
    if (!ok && link->state == LINK_READY)
        peers_say(peers, true, "%s sent an invalid message of kind %u: disconnected", link->name,
                  link->message.kind);
    if (link->state != LINK_WAITING) {
        free(link->content);
        link->content = NULL;
        link->received = 0;
    }
    return ok;
}

/* Takes some of the bytes; returns how many, 0: they are wrong. */
static size_t take_some(struct peers *peers, struct link *link, const uint8_t *bytes, size_t size)
{
    bool is_header = !link->content;
    if (!is_header && link->received == link->capacity && !make_room(peers, link))
        return 0;
    uint8_t *to = is_header ? (uint8_t *)&link->message : link->content;
    size_t room = is_header ? sizeof link->message : link->capacity;
    size_t taken = room - link->received < size ? room - link->received : size;
    memcpy(to + link->received, bytes, taken);
    link->received += taken;
    if (is_header && link->received == sizeof link->message && !begin_content(peers, link))
        return 0;
    if (link->content && link->received == link->message.size && !end_content(peers, link))
        return 0;
    return taken;
}

static bool take_all(struct peers *peers, struct link *link, const uint8_t *bytes, size_t size)
{
    for (size_t taken; size > 0; bytes += taken, size -= taken) {
        if (link->state == LINK_WAITING) /* for an answer: nothing may come before */
            return false;
        taken = take_some(peers, link, bytes, size);
        if (taken == 0)
            return false;
    }
    return true;
}

/* Large contents are received where they belong, small messages through a buffer that may hold
 * several. Never blocks; bounded, so that other connections get their turn. */
bool link_receive(struct peers *peers, struct link *link)
{
    uint8_t stage[STAGE];
    for (int i = 0; i < PIECES; i++) { /* others have their turn as well */
        if (link->content && link->state == LINK_READY && link->received == link->capacity &&
            !make_room(peers, link))
            return false;
        size_t room = link->content ? link->capacity - link->received : 0;
        bool is_direct = room >= sizeof stage;
        ssize_t got = recv(link->file, is_direct ? link->content + link->received : stage,
                           is_direct ? room : sizeof stage, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (got <= 0)
            return false;
        if (!is_direct) {
            if (!take_all(peers, link, stage, (size_t)got))
                return false;
            if ((size_t)got < sizeof stage)
                return true;
            continue;
        }
        link->received += (size_t)got;
        if (link->received == link->message.size && !end_content(peers, link))
            return false;
    }
    return true;
}
