/*
 * Connections: sending, and their end; with what everything above them asks.
 */
#include "neuron/runtime/peers/links.h"

#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

void peers_say(const struct peers *peers, bool is_error, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    peers->options.events.say(is_error, line);
}

int32_t peers_locate(struct peers *peers, uint32_t rank)
{
    pthread_mutex_lock(&peers->lock);
    int32_t where = peers->ranks[rank];
    if (where == PEERS_UNKNOWN && peers->has_failed)
        where = PEERS_GONE;
    pthread_mutex_unlock(&peers->lock);
    return where;
}

struct link *link_new(int file, const struct peer_address *address, bool is_outgoing)
{
    enum { GREETING_MS = 15000 };
    struct link *link = mem_zeroed(1, sizeof *link);
    link->file = file;
    link->state = is_outgoing ? LINK_CONNECTING : LINK_GREETING;
    link->is_outgoing = is_outgoing;
    link->address = *address;
    link->deadline_ms = clock_monotonic_ms() + GREETING_MS;
    link->other.file = -1;
    address_text(address, link->name);
    pthread_mutex_init(&link->send_lock, NULL);
    return link;
}

void link_free(struct link *link)
{
    close(link->file);
    mapping_close(&link->other);
    pthread_mutex_destroy(&link->send_lock);
    mem_free(link->promised);
    mem_free(link->given.items);
    mem_free(link->done.items);
    free(link->content);
    mem_free(link);
}

void link_greet(struct peers *peers, struct link *link)
{
    pthread_mutex_lock(&peers->lock);
    *array_push(&peers->greeting) = link;
    pthread_mutex_unlock(&peers->lock);
}

/* ---- Places -------------------------------------------------------------------------------- */

void places_add(struct places *places, uint64_t place)
{
    if (places->count == places->capacity)
        places->items =
            array_grown(places->items, &places->capacity, places->count + 1, sizeof *places->items);
    places->items[places->count++] = place;
}

bool places_remove(struct places *places, uint64_t place)
{
    for (size_t i = 0; i < places->count; i++)
        if (places->items[i] == place) {
            places->items[i] = places->items[--places->count];
            return true;
        }
    return false;
}

static struct places places_take(struct peers *peers, struct places *places)
{
    pthread_mutex_lock(&peers->lock);
    struct places taken = *places;
    *places = (struct places){0};
    pthread_mutex_unlock(&peers->lock);
    return taken;
}

/* ---- Sending ------------------------------------------------------------------------------- */

static struct peer_message header(enum message_kind kind, size_t size)
{
    return (struct peer_message){
        .magic = MESSAGE_MAGIC, .version = MESSAGE_VERSION, .kind = (uint16_t)kind, .size = size};
}

bool link_send_now(const struct link *link, enum message_kind kind, const void *content,
                   size_t size)
{
    struct peer_message message = header(kind, size);
    struct iovec parts[] = {{&message, sizeof message}, {(void *)content, size}};
    const struct msghdr all = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(link->file, &all, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           (ssize_t)(sizeof message + size);
}

static bool send_parts(int file, struct iovec *parts, size_t count)
{
    while (count > 0) {
        const struct msghdr all = {.msg_iov = parts, .msg_iovlen = count};
        ssize_t sent = sendmsg(file, &all, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        size_t left = sent > 0 ? (size_t)sent : 0;
        for (; count > 0 && left >= parts->iov_len; count--, parts++)
            left -= parts->iov_len;
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    return true;
}

/* Places to be freed at the other side go along. */
void link_send(struct peers *peers, struct link *link, enum message_kind kind, const void *content,
               size_t size, const void *bytes, size_t byte_count)
{
    struct places done = places_take(peers, &link->done);
    struct peer_message freed = header(MESSAGE_FREED, done.count * sizeof *done.items);
    struct peer_message message = header(kind, size + byte_count);
    struct iovec parts[] = {{&freed, sizeof freed},
                            {done.items, done.count * sizeof *done.items},
                            {&message, sizeof message},
                            {(void *)content, size},
                            {(void *)bytes, byte_count}};
    size_t first = done.count > 0 ? 0 : 2;
    size_t last = kind == MESSAGE_FREED ? 2 : sizeof parts / sizeof *parts;
    pthread_mutex_lock(&link->send_lock);
    if (first < last && !send_parts(link->file, parts + first, last - first))
        shutdown(link->file, SHUT_RDWR); /* the thread sees its end */
    pthread_mutex_unlock(&link->send_lock);
    mem_free(done.items);
}

/* ---- The end ------------------------------------------------------------------------------- */

void link_end(struct peers *peers, struct link *link)
{
    pthread_mutex_lock(&peers->lock);
    link->state = LINK_DEAD;
    for (uint32_t i = 0; i < peers->options.rank_count; i++)
        if (peers->ranks[i] == (int32_t)link->index)
            peers->ranks[i] = PEERS_GONE;
    pthread_mutex_unlock(&peers->lock);
    struct places given = places_take(peers, &link->given);
    for (size_t i = 0; i < given.count; i++)
        segment_free(&peers->segment, given.items[i]);
    mem_free(given.items);
    shutdown(link->file, SHUT_RDWR);
    if (!peers->is_closing)
        peers_say(peers, false, "the process at %s has left the communicator", link->name);
    peers->options.events.changed();
}
