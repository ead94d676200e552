/*
 * One handler of fork for the whole library, which takes locks in the order of runtime/runtime.h.
 */
#include "capture/neuron/rings.h"
#include "capture/recorder/lock.h"
#include "neuron/runtime/api/device.h"

static void before_fork(void)
{
    lock_take(&inspect_lock); /* nothing cancels or interrupts the thread from here on */
    lock_take(&profile_lock);
    if (device_profiler && device_profiler->before_fork)
        device_profiler->before_fork();
    rings_before_fork();
}

static void after_fork(bool is_child)
{
    rings_after_fork(is_child);
    if (device_profiler && device_profiler->after_fork)
        device_profiler->after_fork(is_child);
    lock_release(&profile_lock);
    lock_release(&inspect_lock);
}

static void after_fork_in_parent(void)
{
    after_fork(false);
}

static void after_fork_in_child(void)
{
    after_fork(true);
}

/* libkymo's handlers are there already: its locks come last. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
