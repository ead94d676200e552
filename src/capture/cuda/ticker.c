/*
 * Times are those of the monotonic clock: the condition waits by it.
 */
#include "capture/cuda/ticker.h"

#include "base/clock.h"

#include <errno.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

static void make_condition(struct ticker *ticker)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ticker->wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

void ticker_prepare(struct ticker *ticker)
{
    if (!ticker->is_prepared)
        make_condition(ticker);
    ticker->is_prepared = true;
    ticker->is_stopping = false;
}

/* With the lock, signals are kept off: they go to the program's threads. */
bool ticker_start(struct ticker *ticker, void *(*work)(void *), const char *name)
{
    ticker->is_there = pthread_create(&ticker->thread, NULL, work, NULL) == 0;
    if (ticker->is_there)
        pthread_setname_np(ticker->thread, name);
    return ticker->is_there;
}

void ticker_stop(struct ticker *ticker)
{
    lock_take(&ticker->lock);
    bool is_there = ticker->is_there;
    ticker->is_stopping = true;
    ticker->is_there = false;
    if (is_there)
        pthread_cond_signal(&ticker->wake);
    lock_release(&ticker->lock);
    if (is_there)
        pthread_join(ticker->thread, NULL);
}

void ticker_forked(struct ticker *ticker)
{
    if (ticker->is_prepared)
        make_condition(ticker);
    ticker->is_there = false;
    ticker->is_stopping = true;
}

bool ticker_wait(struct ticker *ticker, int64_t until_ns)
{
    struct timespec until = clock_timespec(until_ns);
    int result = 0;
    lock_take(&ticker->lock);
    while (!ticker->is_stopping && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&ticker->wake, &ticker->lock.mutex, &until);
    bool goes_on = !ticker->is_stopping;
    lock_release(&ticker->lock);
    return goes_on;
}

bool ticker_is_stopping(struct ticker *ticker)
{
    lock_take(&ticker->lock);
    bool is_stopping = ticker->is_stopping;
    lock_release(&ticker->lock);
    return is_stopping;
}
