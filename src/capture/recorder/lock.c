/*
 * The recorder's locks: mutexes whose holder cannot be canceled or interrupted.
 */
#include "capture/recorder/lock.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The signal with which glibc cancels asynchronously. In most versions before 2.41 its handler
 * looks at the thread's cancellation type alone: a signal on its way when the thread disables
 * cancellation ends the thread all the same. So it is blocked, which only the system call can do.
 */
enum { CANCEL_SIGNAL = 32 };

static void set_mask(int how, const void *signals)
{
    syscall(SYS_rt_sigprocmask, how, signals, NULL, sizeof(uint64_t));
}

void signals_restore(const sigset_t *before)
{
    set_mask(SIG_SETMASK, before);
}

/* Signals first: a handler that leaves with longjmp finds nothing changed. Signals for faults in
 * the running code cannot wait. */
void undisturbed_begin(struct undisturbed *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    const uint64_t cancel = (uint64_t)1 << (CANCEL_SIGNAL - 1);
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before->signals);
    set_mask(SIG_BLOCK, &cancel);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancel_state);
    /* With the other type, a cancellation point would wait for the signal on its way. */
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before->cancel_type);
}

static void restore_signals(void *before)
{
    signals_restore(&((const struct undisturbed *)before)->signals);
}

/* A thread that was canceled meanwhile ends here: its cleanup handlers find its own signal mask. */
void undisturbed_end(const struct undisturbed *before)
{
    struct undisturbed own = *before;
    int ignored;
    pthread_setcanceltype(own.cancel_type, &ignored);
    pthread_cleanup_push(restore_signals, &own);
    pthread_setcancelstate(own.cancel_state, &ignored);
    pthread_cleanup_pop(1);
}

void undisturbed_once(pthread_once_t *once, void (*routine)(void))
{
    struct undisturbed before;
    undisturbed_begin(&before);
    pthread_once(once, routine);
    undisturbed_end(&before);
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
