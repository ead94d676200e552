/*
 * The recorder's locks: mutexes whose holder cannot be cancelled or interrupted.
 */
#include "record/lock.h"

/* Signals that tell of a fault in the code that runs cannot wait. */
void undisturbed_begin(struct undisturbed *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancel);
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before->signals);
}

void undisturbed_end(const struct undisturbed *before)
{
    pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
    pthread_setcancelstate(before->cancel, NULL);
}

void lock_take(struct lock *lock)
{
    struct undisturbed before;
    undisturbed_begin(&before);
    pthread_mutex_lock(&lock->mutex);
    lock->before = before;
}

bool lock_try(struct lock *lock)
{
    struct undisturbed before;
    undisturbed_begin(&before);
    bool taken = pthread_mutex_trylock(&lock->mutex) == 0;
    if (taken)
        lock->before = before;
    else
        undisturbed_end(&before);
    return taken;
}

void lock_release(struct lock *lock)
{
    struct undisturbed before = lock->before;
    pthread_mutex_unlock(&lock->mutex);
    undisturbed_end(&before);
}
