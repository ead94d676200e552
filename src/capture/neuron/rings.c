/*
 * Event rings in memory. Any thread may write to a core's ring, so each has a lock, which also
 * prevents the ring from being freed while in use. Its holder reaches no cancellation point.
 */
#include "capture/neuron/rings.h"

#include "base/clock.h"
#include "capture/recorder/lock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct ring {
    pthread_mutex_t lock;
    struct rings_event *events; /* NULL: no ring */
    uint64_t slots, head, tail; /* head, tail: total events written and taken */
    uint64_t lost;
};

bool trace_in_rings;
/* Acquired before any ring's lock. */
static struct lock control = LOCK_INITIALIZER;
static bool running;
static struct ring rings[RINGS] = {[0 ... RINGS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};
static uint64_t wanted[EVENT_TYPE_WORDS];
static int64_t epoch_ns; /* of CLOCK_MONOTONIC's zero, measured at the start */

void rings_event_free(struct rings_event *event)
{
    for (unsigned i = 0; i < event->count; i++)
        if (event->kind[i] == KYMO_TEXT)
            free(event->value[i].text);
}

static size_t ring_bytes(const struct ring *ring)
{
    return ring->slots * sizeof *ring->events;
}

/* With its lock held. */
static void drop_events(struct ring *ring)
{
    for (; ring->tail != ring->head; ring->tail++)
        rings_event_free(&ring->events[ring->tail % ring->slots]);
}

static bool ring_open(struct ring *ring, uint64_t slots)
{
    if (slots > PTRDIFF_MAX / sizeof *ring->events)
        return false;
    void *memory = mmap(NULL, slots * sizeof *ring->events, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    pthread_mutex_lock(&ring->lock);
    ring->events = memory;
    ring->slots = slots;
    ring->head = ring->tail = ring->lost = 0;
    pthread_mutex_unlock(&ring->lock);
    return true;
}

static void ring_close(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    if (ring->events) {
        drop_events(ring);
        munmap(ring->events, ring_bytes(ring));
        ring->events = NULL;
    }
    pthread_mutex_unlock(&ring->lock);
}

static void close_all(void)
{
    __atomic_store_n(&trace_in_rings, false, __ATOMIC_RELAXED);
    for (size_t i = 0; i < RINGS; i++)
        ring_close(&rings[i]);
    running = false;
}

/* Locks the open rings, which stay the same until rings_after_fork. */
void rings_before_fork(void)
{
    lock_take(&control);
    for (size_t i = 0; i < RINGS; i++)
        if (rings[i].events)
            pthread_mutex_lock(&rings[i].lock);
}

void rings_after_fork(bool is_child)
{
    for (size_t i = 0; i < RINGS; i++) {
        bool is_locked = rings[i].events;
        if (is_child && is_locked)
            drop_events(&rings[i]);
        if (is_child)
            rings[i].lost = 0;
        if (is_locked)
            pthread_mutex_unlock(&rings[i].lock);
        else if (is_child) /* a thread that is not here may have looked whether it is open */
            pthread_mutex_init(&rings[i].lock, NULL);
    }
    lock_release(&control);
}

static bool open_all(const struct rings_config *config)
{
    for (uint32_t i = 0; i < RINGS; i++)
        if ((i == RINGS_CORES || event_bit(config->cores, i)) &&
            !ring_open(&rings[i], config->max_events))
            return false;
    return true;
}

enum rings_result rings_start(const struct rings_config *config)
{
    enum rings_result result = RINGS_RUNNING;
    lock_take(&control);
    if (!running) {
        for (size_t i = 0; i < EVENT_TYPE_WORDS; i++)
            __atomic_store_n(&wanted[i], config->types[i], __ATOMIC_RELAXED);
        __atomic_store_n(&epoch_ns, clock_epoch_ns(), __ATOMIC_RELAXED);
        running = open_all(config);
        __atomic_store_n(&trace_in_rings, running, __ATOMIC_RELEASE);
        result = running ? RINGS_OK : RINGS_NO_MEMORY;
        if (!running)
            close_all();
    }
    lock_release(&control);
    return result;
}

enum rings_result rings_stop(void)
{
    lock_take(&control);
    enum rings_result result = running ? RINGS_OK : RINGS_NOT_RUNNING;
    close_all();
    lock_release(&control);
    return result;
}

bool rings_are_running(void)
{
    lock_take(&control);
    bool is = running;
    lock_release(&control);
    return is;
}

static void keep_args(struct rings_event *event, const struct kymo_arg *args, size_t count)
{
    event->count = (uint8_t)(count < RINGS_ARGS ? count : RINGS_ARGS);
    for (unsigned i = 0; i < event->count; i++) {
        event->key[i] = args[i].key;
        event->kind[i] = (uint8_t)args[i].type;
        if (args[i].type == KYMO_TEXT)
            event->value[i].text = args[i].value.text ? strdup(args[i].value.text) : NULL;
        else
            event->value[i].u = args[i].value.u;
    }
}

/* Any thread may call it. The time is read under the ring's lock, so that a ring's events are in
 * order; in a full ring the oldest event gives way. */
void rings_push(const struct trace_record *event, const struct kymo_arg *args, size_t count)
{
    if (!(__atomic_load_n(&wanted[event->type / 64], __ATOMIC_RELAXED) >> (event->type % 64) & 1))
        return;
    if (event->core >= RINGS_CORES && event->core != TRACE_NO_CORE)
        return;
    struct ring *ring = &rings[event->core < RINGS_CORES ? event->core : RINGS_CORES];
    pthread_mutex_lock(&ring->lock);
    if (ring->events) {
        struct rings_event *slot = &ring->events[ring->head % ring->slots];
        if (ring->head - ring->tail == ring->slots) {
            rings_event_free(slot);
            ring->tail++;
            ring->lost++;
        }
        slot->tracking_id = event->tracking_id;
        slot->type = (uint16_t)event->type;
        slot->phase = (uint8_t)event->phase;
        keep_args(slot, args, count);
        slot->time_ns = __atomic_load_n(&epoch_ns, __ATOMIC_RELAXED) +
                        (event->monotonic_ns ? event->monotonic_ns : clock_monotonic_ns());
        ring->head++;
    }
    pthread_mutex_unlock(&ring->lock);
}

uint64_t rings_waiting(uint32_t number)
{
    struct ring *ring = &rings[number];
    pthread_mutex_lock(&ring->lock);
    uint64_t waiting = ring->events ? ring->head - ring->tail : 0;
    pthread_mutex_unlock(&ring->lock);
    return waiting;
}

size_t rings_take(uint32_t number, struct rings_event *events, size_t max)
{
    struct ring *ring = &rings[number];
    size_t count = 0;
    pthread_mutex_lock(&ring->lock);
    for (; ring->events && ring->tail != ring->head && count < max; ring->tail++)
        events[count++] = ring->events[ring->tail % ring->slots];
    pthread_mutex_unlock(&ring->lock);
    return count;
}

uint64_t rings_take_lost(uint32_t number)
{
    struct ring *ring = &rings[number];
    pthread_mutex_lock(&ring->lock);
    uint64_t lost = ring->lost;
    ring->lost = 0;
    pthread_mutex_unlock(&ring->lock);
    return lost;
}

void rings_add_lost(uint32_t number, uint64_t count)
{
    struct ring *ring = &rings[number];
    pthread_mutex_lock(&ring->lock);
    ring->lost += count;
    pthread_mutex_unlock(&ring->lock);
}
