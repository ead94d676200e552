/*
 * Locks of the recorder. The holder is neither canceled nor interrupted by signals: a handler could
 * leave with longjmp, call exit or record an event, and the lock would be held forever. Slow paths
 * without a lock use the same protection.
 */
#ifndef KYMO_CAPTURE_RECORDER_LOCK_H
#define KYMO_CAPTURE_RECORDER_LOCK_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* What was before, to be restored. */
struct undisturbed {
    sigset_t signals;
    int cancel_state, cancel_type;
};
void undisturbed_begin(struct undisturbed *before);
void undisturbed_end(const struct undisturbed *before);
/* pthread_once, which would wait for a thread that has left it. */
void undisturbed_once(pthread_once_t *once, void (*routine)(void));

/* Undisturbed code sets signal masks with this: pthread_sigmask would let cancellation in. */
void signals_restore(const sigset_t *before);

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
