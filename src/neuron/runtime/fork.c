/*
 * The runtime's part of the handler of fork (api/fork.c). It takes the locks of calls that a child
 * may make; the others' calls return before they take one.
 */
#include "neuron/runtime/profile.h"
#include "neuron/runtime/ranks.h"

static pthread_mutex_t *const locks[] = {&lifecycle_lock, &profiles_lock, &issued_lock,
                                         &debug_lock};
enum { LOCKS = sizeof locks / sizeof *locks };

void runtime_before_fork(void)
{
    for (size_t i = 0; i < LOCKS; i++)
        pthread_mutex_lock(locks[i]);
    ranks_before_fork();
}

void runtime_after_fork(bool is_child)
{
    ranks_after_fork(is_child);
    if (is_child)
        runtime_forked();
    for (size_t i = LOCKS; i > 0; i--)
        pthread_mutex_unlock(locks[i - 1]);
}
