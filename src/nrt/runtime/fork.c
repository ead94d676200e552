/*
 * One handler of fork for the whole library, which takes locks in the order of runtime.h. It takes
 * those of calls that a child may make; the others' calls return before they take one.
 */
#include "nrt/device.h"
#include "nrt/rings.h"
#include "nrt/runtime/profile.h"
#include "nrt/runtime/ranks.h"
#include "record/lock.h"

static pthread_mutex_t *const locks[] = {&lifecycle_lock, &profiles_lock, &issued_lock,
                                         &debug_lock};
enum { LOCKS = sizeof locks / sizeof *locks };

static void before_fork(void)
{
    lock_take(&inspect_lock); /* nothing cancels or interrupts the thread from here on */
    lock_take(&profile_lock);
    for (size_t i = 0; i < LOCKS; i++)
        pthread_mutex_lock(locks[i]);
    ranks_before_fork();
    rings_before_fork();
}

static void after_fork(bool is_child)
{
    rings_after_fork(is_child);
    ranks_after_fork(is_child);
    if (is_child)
        runtime_forked();
    for (size_t i = LOCKS; i > 0; i--)
        pthread_mutex_unlock(locks[i - 1]);
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
