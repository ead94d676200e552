/*
 * A list of free buffers, linked through their first bytes, and the queue.
 */
#include "capture/cuda/buffers.h"

#include "base/clock.h"
#include "capture/recorder/lock.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Versions before CUDA 12.9 crash without a buffer: they get more, as long as there is memory. */
enum { PREPARED = 8, MOST_USUALLY = 128, MOST_BUFFERS = 1024, LINK_SIZE = sizeof(uint8_t *) };
enum { NS_PER_S = 1000000000 };

static struct {
    struct lock lock;
    pthread_cond_t wake;
    bool is_prepared, is_woken;
    uint8_t *free;
    unsigned allocated, most;
    struct filled queue[MOST_BUFFERS];
    unsigned first, count; /* in the queue */
} buffers = {.lock = LOCK_INITIALIZER};

static uint8_t *allocate(int flags)
{
    void *buffer =
        mmap(NULL, BUFFER_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return buffer == MAP_FAILED ? NULL : buffer;
}

static void push_free(uint8_t *buffer)
{
    memcpy(buffer, &buffers.free, LINK_SIZE);
    buffers.free = buffer;
}

static void make_condition(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&buffers.wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool buffers_prepare(bool may_refuse)
{
    lock_take(&buffers.lock);
    if (!buffers.is_prepared)
        make_condition();
    buffers.is_prepared = true;
    buffers.is_woken = false;
    buffers.most = may_refuse ? MOST_USUALLY : MOST_BUFFERS;
    while (buffers.allocated < PREPARED) {
        uint8_t *buffer = allocate(MAP_POPULATE);
        if (!buffer)
            break;
        push_free(buffer);
        buffers.allocated++;
    }
    bool ok = buffers.allocated >= PREPARED;
    lock_release(&buffers.lock);
    return ok;
}

uint8_t *buffers_take(void)
{
    lock_take(&buffers.lock);
    uint8_t *buffer = buffers.free;
    if (buffer) {
        memcpy(&buffers.free, buffer, LINK_SIZE);
        memset(buffer, 0, LINK_SIZE);
    } else if (buffers.allocated < buffers.most) {
        buffer = allocate(0);
        buffers.allocated += buffer != NULL;
    }
    lock_release(&buffers.lock);
    return buffer;
}

void buffers_fill(const struct filled *filled)
{
    lock_take(&buffers.lock);
    buffers.queue[(buffers.first + buffers.count) % MOST_BUFFERS] = *filled;
    buffers.count++; /* never more than there are buffers */
    pthread_cond_signal(&buffers.wake);
    lock_release(&buffers.lock);
}

bool buffers_wait(struct filled *filled, int64_t until_ns)
{
    struct timespec until = clock_timespec(until_ns);
    int result = 0;
    lock_take(&buffers.lock);
    while (buffers.count == 0 && !buffers.is_woken && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&buffers.wake, &buffers.lock.mutex, &until);
    bool is_there = buffers.count > 0;
    if (is_there) {
        *filled = buffers.queue[buffers.first];
        buffers.first = (buffers.first + 1) % MOST_BUFFERS;
        buffers.count--;
    }
    lock_release(&buffers.lock);
    return is_there;
}

void buffers_wake(void)
{
    lock_take(&buffers.lock);
    buffers.is_woken = true;
    pthread_cond_signal(&buffers.wake);
    lock_release(&buffers.lock);
}

void buffers_return(const struct filled *filled)
{
    memset(filled->buffer, 0, filled->valid < BUFFER_SIZE ? filled->valid : BUFFER_SIZE);
    lock_take(&buffers.lock);
    push_free(filled->buffer);
    lock_release(&buffers.lock);
}

void buffers_lock(void)
{
    lock_take(&buffers.lock);
}

void buffers_unlock(void)
{
    lock_release(&buffers.lock);
}

void buffers_forked(void)
{
    if (buffers.is_prepared)
        make_condition();
    buffers.count = 0;
    lock_release(&buffers.lock);
}
