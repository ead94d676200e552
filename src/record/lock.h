/*
 * The recorder's locks. A thread that holds one is neither cancelled nor interrupted by a signal:
 * a handler could leave with longjmp, call exit or record an event, and the lock would be held for
 * ever. Slow paths that take no lock use the same protection by itself.
 */
#ifndef KYMO_RECORD_LOCK_H
#define KYMO_RECORD_LOCK_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* What was before, to be restored. */
struct undisturbed {
    sigset_t signals;
    int cancel;
};
void undisturbed_begin(struct undisturbed *before);
void undisturbed_end(const struct undisturbed *before);

/* Locks are released in the opposite order. */
struct lock {
    pthread_mutex_t mutex;
    struct undisturbed before; /* of the thread that holds it */
};
#define LOCK_INITIALIZER {.mutex = PTHREAD_MUTEX_INITIALIZER}

void lock_take(struct lock *lock);
bool lock_try(struct lock *lock);
void lock_release(struct lock *lock);

#endif
