/*
 * The interposer in the life of its process: loading and fork.
 */
#include "capture/neuron/objects.h"
#include "capture/neuron/requests.h"
#include "capture/neuron/systrace.h"
#include "capture/recorder/lock.h"

#include <pthread.h>

/* Handlers of others run between these two: nothing may cancel the thread there. */
static struct undisturbed forking;

static void before_fork(void)
{
    struct undisturbed before;
    undisturbed_begin(&before);
    systrace_lock();
    objects_lock();
    requests_lock();
    forking = before;
}

static void after_fork_in_parent(void)
{
    struct undisturbed before = forking;
    requests_unlock();
    objects_unlock();
    systrace_unlock();
    undisturbed_end(&before);
}

static void after_fork_in_child(void)
{
    systrace_forked();
    after_fork_in_parent();
}

/* libkymo's handlers of fork are there already. */
__attribute__((constructor)) static void prepare(void)
{
    systrace_prepare();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
