/*
 * A thread that does something again and again until it is stopped; counters of all kinds have one.
 */
#ifndef KYMO_CAPTURE_CUDA_TICKER_H
#define KYMO_CAPTURE_CUDA_TICKER_H

#include "capture/recorder/lock.h"

#include <stdint.h>

struct ticker {
    struct lock lock; /* also of what the thread shares with others */
    pthread_cond_t wake;
    pthread_t thread;
    bool is_prepared, is_there, is_stopping;
};
#define TICKER_INITIALIZER {.lock = LOCK_INITIALIZER}

/* The lock is held in these three. The thread may run once it is prepared; in the child of a fork
 * it is not there. */
void ticker_prepare(struct ticker *ticker);
bool ticker_start(struct ticker *ticker, void *(*work)(void *), const char *name);
void ticker_forked(struct ticker *ticker);

/* Returns when the thread has ended. */
void ticker_stop(struct ticker *ticker);

/* For the thread: false when it is to end. */
bool ticker_wait(struct ticker *ticker, int64_t until_ns);
bool ticker_is_stopping(struct ticker *ticker);

#endif
