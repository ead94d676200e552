/*
 * The thread that waits for all connections.
 */
#include "base/clock.h"
#include "neuron/runtime/peers/links.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum { IDLE_MS = 1000, CLOSE_MS = 1000, OWN_FILES = 2 };

struct watch {
    struct pollfd *files; /* wake, listener, those in greeting, ready ones */
    size_t capacity, greeting, ready;
};

static void watch_all(struct peers *peers, struct watch *watch)
{
    size_t wanted = OWN_FILES + peers->greeting.count + peers->link_count;
    if (wanted > watch->capacity)
        watch->files = array_grown(watch->files, &watch->capacity, wanted, sizeof *watch->files);
    bool accepts = !peers->is_closing && clock_monotonic_ms() >= peers->accept_at_ms;
    watch->files[0] = (struct pollfd){.fd = peers->wake, .events = POLLIN};
    watch->files[1] = (struct pollfd){.fd = accepts ? peers->listener : -1, .events = POLLIN};
    watch->greeting = peers->greeting.count;
    watch->ready = peers->link_count;
    for (size_t i = 0; i < watch->greeting; i++) {
        const struct link *link = peers->greeting.items[i];
        watch->files[OWN_FILES + i] = (struct pollfd){
            .fd = link->file, .events = link->state == LINK_CONNECTING ? POLLOUT : POLLIN};
    }
    for (size_t i = 0; i < watch->ready; i++) {
        const struct link *link = peers->links[i];
        watch->files[OWN_FILES + watch->greeting + i] =
            (struct pollfd){.fd = link->state == LINK_READY ? link->file : -1, .events = POLLIN};
    }
}

/* The time until something is due. */
static int time_left(const struct peers *peers)
{
    int64_t now = clock_monotonic_ms(), until = now + IDLE_MS;
    if (!peers->is_root && !peers->is_joining && !peers->has_session && !peers->has_failed &&
        peers->join_at_ms < until)
        until = peers->join_at_ms;
    for (size_t i = 0; i < peers->greeting.count; i++)
        if (peers->greeting.items[i]->deadline_ms < until)
            until = peers->greeting.items[i]->deadline_ms;
    if (peers->accept_at_ms > now && peers->accept_at_ms < until)
        until = peers->accept_at_ms;
    return until > now ? (int)(until - now) : 0;
}

/* Whether it goes on. */
static bool serve_greeting(struct peers *peers, struct link *link, short events)
{
    if (peers->is_closing || clock_monotonic_ms() >= link->deadline_ms ||
        (peers->is_root && link->is_outgoing)) /* this process has become the root */
        return false;
    if (events == 0)
        return true;
    if (link->state == LINK_CONNECTING)
        return join_connected(peers, link);
    return link_receive(peers, link);
}

/* Those that are ready or over leave the list. New ones may come at its end meanwhile. */
static void serve_greetings(struct peers *peers, const struct watch *watch)
{
    for (size_t i = 0; i < watch->greeting; i++) {
        struct link *link = peers->greeting.items[i];
        bool goes_on = link->state == LINK_READY ||
                       serve_greeting(peers, link, watch->files[OWN_FILES + i].revents);
        if (goes_on && link->state != LINK_READY)
            continue;
        pthread_mutex_lock(&peers->lock);
        peers->greeting.items[i] = NULL;
        pthread_mutex_unlock(&peers->lock);
        if (link->state == LINK_READY) {
            if (!goes_on)
                link_end(peers, link);
        } else {
            join_failed(peers, link);
            link_free(link);
        }
    }
    size_t kept = 0;
    pthread_mutex_lock(&peers->lock);
    for (size_t i = 0; i < peers->greeting.count; i++)
        if (peers->greeting.items[i])
            peers->greeting.items[kept++] = peers->greeting.items[i];
    peers->greeting.count = kept;
    pthread_mutex_unlock(&peers->lock);
}

static void serve_ready(struct peers *peers, const struct watch *watch)
{
    for (size_t i = 0; i < watch->ready; i++) {
        struct link *link = peers->links[i];
        if (watch->files[OWN_FILES + watch->greeting + i].revents && link->state == LINK_READY &&
            !link_receive(peers, link))
            link_end(peers, link);
    }
}

/* Whether connections are left whose other end has not yet taken everything. */
static bool are_closing(struct peers *peers, int64_t *close_by_ms)
{
    bool any = false;
    if (*close_by_ms == 0) {
        *close_by_ms = clock_monotonic_ms() + CLOSE_MS;
        for (uint32_t i = 0; i < peers->link_count; i++)
            if (peers->links[i]->state == LINK_READY)
                shutdown(peers->links[i]->file, SHUT_WR);
    }
    for (uint32_t i = 0; i < peers->link_count; i++)
        any |= peers->links[i]->state == LINK_READY;
    return any && clock_monotonic_ms() < *close_by_ms;
}

/* The only thread that receives, accepts and connects. While closing it polls more often, until
 * everything sent was taken or the time is up. */
void *peers_main(void *argument)
{
    struct peers *peers = argument;
    struct watch watch = {0};
    int64_t close_by_ms = 0;
    watch.files = array_grown(NULL, &watch.capacity, OWN_FILES, sizeof *watch.files);
    while (!peers->is_closing || are_closing(peers, &close_by_ms)) {
        uint64_t unused;
        if (!peers->is_closing)
            join_root(peers);
        watch_all(peers, &watch);
        int left = time_left(peers);
        if (poll(watch.files, OWN_FILES + watch.greeting + watch.ready,
                 peers->is_closing && left > 10 ? 10 : left) < 0)
            continue;
        if (watch.files[0].revents && read(peers->wake, &unused, sizeof unused) < 0)
            continue;
        if (watch.files[1].revents)
            join_accept(peers);
        serve_ready(peers, &watch);
        serve_greetings(peers, &watch);
    }
    mem_free(watch.files);
    return NULL;
}
