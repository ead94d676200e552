/*
 * Messages of channels. A message to another process is sent at once, and is done when the other
 * has answered how much it took. Messages from there wait for the next call of this process: the
 * thread of the connections must not wait for executions, which may wait for it.
 */
#include "neuron/runtime/channels.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum note_kind { NOTE_OPEN = 1, NOTE_SEND, NOTE_DONE, NOTE_CLOSE };
enum { CHANNELS_MAX = COMMUNICATORS_MAX * CORES_MAX, INBOX_MAX = 1 << 16 };

struct route { /* between two cores of different processes: how often each side was opened */
    struct route *next;
    uint32_t link;
    int cores[2];
    uint32_t opened[2];
};

struct waiting { /* to be sent, or received */
    uint32_t link;
    struct peers_note note;
    uint8_t *bytes;
};

pthread_mutex_t channels_lock = PTHREAD_MUTEX_INITIALIZER;
int channels_pending[CORES_MAX];
static pthread_mutex_t send_lock =
    PTHREAD_MUTEX_INITIALIZER; /* before the other: keeps the order */
static struct channel *channels;
static struct route *routes;
static ARRAY(struct waiting) outbox;
static pthread_mutex_t inbox_lock = PTHREAD_MUTEX_INITIALIZER; /* after the others */
static ARRAY(struct waiting) inbox;

/* ---- Messages ------------------------------------------------------------------------------ */

static void message_destroy(struct object *object)
{
    struct channel_message *message = (struct channel_message *)object;
    view_put(&message->view);
    object_put(message->tensor ? &message->tensor->object : NULL);
    free(message->bytes);
}

struct channel_message *message_new(struct tensor *tensor, int core)
{
    struct channel_message *message = object_new(OBJECT_REQUEST, sizeof *message, message_destroy);
    message->tensor = tensor;
    if (tensor)
        message->view = tensor_view(tensor);
    message->core = core;
    return message;
}

/* Ends a request; puts the channel's reference. */
static void message_finish(struct channel_message *message, size_t size, bool failed)
{
    message->is_done = true;
    message->has_failed = failed;
    message->transferred = size;
    if (message->core >= 0)
        channels_pending[message->core]--;
    object_put(&message->object);
}

static struct channel_message *take_first(struct channel *channel, int side)
{
    struct channel_message *message = channel->first[side];
    channel->first[side] = message->next;
    if (!channel->first[side])
        channel->last[side] = &channel->first[side];
    channel->queued--;
    return message;
}

static void add_note(const struct channel *channel, enum note_kind kind, uint64_t value)
{
    *array_push(&outbox) = (struct waiting){.link = channel->link,
                                            .note = {.kind = (uint32_t)kind,
                                                     .sender = (uint32_t)channel->cores[SENDER],
                                                     .receiver = (uint32_t)channel->cores[RECEIVER],
                                                     .number = channel->number,
                                                     .value = value}};
}

/* Messages of tensors that executions use stay for the next call: with the lock held nothing waits
 * for executions, as their callback may take it. */
static void meet(struct channel *channel)
{
    while (channel->first[SENDER] && channel->first[RECEIVER] &&
           storage_try_copy(channel->first[RECEIVER]->view.storage,
                            channel->first[SENDER]->view.storage)) {
        struct channel_message *from = take_first(channel, SENDER);
        struct channel_message *to = take_first(channel, RECEIVER);
        size_t size = from->part.size < to->part.size ? from->part.size : to->part.size;
        memmove(to->part.data, from->part.data, size);
        storage_end_copy(to->view.storage, from->view.storage);
        if (from->bytes)
            add_note(channel, NOTE_DONE, size);
        message_finish(from, size, false);
        message_finish(to, size, false);
    }
}

void channel_add(struct channel *channel, int side, struct channel_message *message)
{
    object_reference(&message->object);
    *channel->last[side] = message;
    channel->last[side] = &message->next;
    channel->queued++;
    meet(channel);
}

/* ---- Channels ------------------------------------------------------------------------------ */

static struct channel *channel_new(int sender, int receiver)
{
    struct channel *channel = mem_zeroed(1, sizeof *channel);
    channel->cores[SENDER] = sender;
    channel->cores[RECEIVER] = receiver;
    channel->last[SENDER] = &channel->first[SENDER];
    channel->last[RECEIVER] = &channel->first[RECEIVER];
    channel->next = channels;
    channels = channel;
    return channel;
}

static void open_side(struct channel *channel, int side)
{
    channel->references++;
    channel->is_open[side] = channel->was_open[side] = true;
}

struct channel *channel_join(int side, int sender, int receiver)
{
    struct channel *found = NULL;
    for (struct channel *channel = channels; channel; channel = channel->next)
        if (!channel->is_remote && channel->cores[SENDER] == sender &&
            channel->cores[RECEIVER] == receiver && !channel->was_open[side])
            found = channel;
    if (!found)
        found = channel_new(sender, receiver);
    open_side(found, side);
    return found;
}

static struct route *route_of(uint32_t link, int sender, int receiver)
{
    struct route *route = routes;
    while (route && (route->link != link || route->cores[SENDER] != sender ||
                     route->cores[RECEIVER] != receiver))
        route = route->next;
    if (!route) {
        route = mem_zeroed(1, sizeof *route);
        *route = (struct route){.next = routes, .link = link, .cores = {sender, receiver}};
        routes = route;
    }
    return route;
}

static struct channel *find_remote(uint32_t link, int sender, int receiver, uint32_t number)
{
    struct channel *channel = channels;
    while (channel && (!channel->is_remote || channel->link != link || channel->number != number ||
                       channel->cores[SENDER] != sender || channel->cores[RECEIVER] != receiver))
        channel = channel->next;
    return channel;
}

/* The n-th opening of one side meets the n-th of the other. */
static struct channel *open_remote(uint32_t link, int side, int sender, int receiver)
{
    struct route *route = route_of(link, sender, receiver);
    uint32_t number = route->opened[side]++;
    struct channel *channel = find_remote(link, sender, receiver, number);
    if (!channel) {
        channel = channel_new(sender, receiver);
        channel->is_remote = true;
        channel->link = link;
        channel->number = number;
    }
    open_side(channel, side);
    return channel;
}

struct channel *channel_join_remote(int side, uint32_t link, int sender, int receiver)
{
    struct channel *channel = open_remote(link, side, sender, receiver);
    add_note(channel, NOTE_OPEN, (uint64_t)side);
    return channel;
}

static void fail_all(struct channel *channel)
{
    for (int side = 0; side < 2; side++)
        while (channel->first[side])
            message_finish(take_first(channel, side), 0, true);
}

static void close_side(struct channel *channel, int side)
{
    channel->is_open[side] = false;
    fail_all(channel);
    if (--channel->references > 0)
        return;
    struct channel **link = &channels;
    while (*link != channel)
        link = &(*link)->next;
    *link = channel->next;
    mem_free(channel);
}

void channel_leave(struct channel *channel, int side)
{
    if (channel->is_remote)
        add_note(channel, NOTE_CLOSE, (uint64_t)side);
    close_side(channel, side);
}

/* Requests to processes that are gone end. */
static void sweep(struct peers *peers)
{
    for (struct channel *channel = channels; channel; channel = channel->next)
        if (channel->is_remote && !peers_is_there(peers, channel->link))
            fail_all(channel);
}

/* ---- Other processes ----------------------------------------------------------------------- */

void channel_send(struct peers *peers, struct channel *channel, struct channel_message *message)
{
    channels_progress(peers); /* the opening comes first */
    pthread_mutex_lock(&send_lock);
    pthread_mutex_lock(&channels_lock);
    const struct peers_note note = {.kind = NOTE_SEND,
                                    .sender = (uint32_t)channel->cores[SENDER],
                                    .receiver = (uint32_t)channel->cores[RECEIVER],
                                    .number = channel->number,
                                    .size = message->part.size};
    uint32_t link = channel->link;
    channel_add(channel, SENDER, message);
    pthread_mutex_unlock(&channels_lock);
    peers_send_note(peers, link, &note, message->part.data);
    pthread_mutex_unlock(&send_lock);
}

/* Whether the core that a note is for is one of this process. */
static bool is_own(uint32_t core)
{
    return core - settings.row.first < settings.row.count;
}

static bool take_open(uint32_t link, const struct peers_note *note)
{
    uint32_t count = 0;
    for (const struct channel *channel = channels; channel; channel = channel->next)
        count++;
    bool is_sender = note->value == SENDER;
    if (note->value > RECEIVER || !is_own(is_sender ? note->receiver : note->sender) ||
        count >= CHANNELS_MAX)
        return false;
    open_remote(link, (int)note->value, (int)note->sender, (int)note->receiver);
    return true;
}

/* The bytes are the message's from now on. */
static bool take_send(struct channel *channel, const struct peers_note *note, uint8_t *bytes)
{
    if (!channel->is_open[SENDER] || channel->queued >= 2 * PENDING_MAX)
        return false;
    struct channel_message *message = message_new(NULL, -1);
    message->bytes = bytes;
    message->part = (struct view){.data = bytes, .size = note->size};
    if (channel->was_open[RECEIVER] && !channel->is_open[RECEIVER])
        message->is_done = true; /* nobody will receive it */
    else
        channel_add(channel, SENDER, message);
    object_put(&message->object);
    return true;
}

static bool take_done(struct channel *channel, const struct peers_note *note)
{
    if (!channel->first[SENDER])
        return !channel->is_open[SENDER]; /* it was closed meanwhile */
    bool failed = note->value > channel->first[SENDER]->part.size;
    message_finish(take_first(channel, SENDER), failed ? 0 : note->value, failed);
    return true;
}

/* Invalid notes are dropped. */
static void take_note(const struct waiting *item)
{
    const struct peers_note *note = &item->note;
    bool ok = note->sender <= INT32_MAX && note->receiver <= INT32_MAX, is_kept = false;
    struct channel *channel =
        ok ? find_remote(item->link, (int)note->sender, (int)note->receiver, note->number) : NULL;
    if (ok && note->kind == NOTE_OPEN) {
        ok = take_open(item->link, note);
    } else if (ok && channel && note->kind == NOTE_SEND) {
        ok = is_kept = is_own(note->receiver) && take_send(channel, note, item->bytes);
    } else if (ok && channel && note->kind == NOTE_DONE) {
        ok = is_own(note->sender) && take_done(channel, note);
    } else if (ok && channel && note->kind == NOTE_CLOSE) {
        ok = note->value <= RECEIVER && channel->is_open[note->value] &&
             !is_own(note->value == SENDER ? note->sender : note->receiver);
        if (ok)
            close_side(channel, (int)note->value);
    }
    if (!ok)
        rt_error(RT_NRT, "invalid message from core %u to core %u", note->sender, note->receiver);
    if (!is_kept)
        free(item->bytes);
}

static void receive_all(void)
{
    pthread_mutex_lock(&inbox_lock);
    struct waiting *items = inbox.items;
    size_t count = inbox.count;
    inbox.items = NULL;
    inbox.count = inbox.capacity = 0;
    pthread_mutex_unlock(&inbox_lock);
    for (size_t i = 0; i < count; i++)
        take_note(&items[i]);
    mem_free(items);
}

void channels_progress(struct peers *peers)
{
    pthread_mutex_lock(&send_lock);
    pthread_mutex_lock(&channels_lock);
    if (peers) {
        receive_all();
        sweep(peers);
    }
    for (struct channel *channel = channels; channel; channel = channel->next)
        meet(channel);
    struct waiting *items = outbox.items;
    size_t count = outbox.count;
    outbox.items = NULL;
    outbox.count = outbox.capacity = 0;
    pthread_mutex_unlock(&channels_lock);
    for (size_t i = 0; i < count; i++)
        peers_send_note(peers, items[i].link, &items[i].note, NULL);
    mem_free(items);
    pthread_mutex_unlock(&send_lock);
}

bool channels_noted(uint32_t link, const struct peers_note *note, uint8_t *bytes)
{
    pthread_mutex_lock(&inbox_lock);
    bool ok = inbox.count < INBOX_MAX;
    if (ok)
        *array_push(&inbox) = (struct waiting){.link = link, .note = *note, .bytes = bytes};
    pthread_mutex_unlock(&inbox_lock);
    return ok;
}

void channels_close(void)
{
    pthread_mutex_lock(&channels_lock);
    for (struct channel *channel = channels, *next; channel; channel = next) {
        next = channel->next;
        fail_all(channel);
        mem_free(channel);
    }
    for (struct route *route = routes, *next; route; route = next) {
        next = route->next;
        mem_free(route);
    }
    channels = NULL;
    routes = NULL;
    array_free(&outbox);
    pthread_mutex_lock(&inbox_lock);
    for (size_t i = 0; i < inbox.count; i++)
        free(inbox.items[i].bytes);
    array_free(&inbox);
    pthread_mutex_unlock(&inbox_lock);
    memset(channels_pending, 0, sizeof channels_pending);
    pthread_mutex_unlock(&channels_lock);
}
