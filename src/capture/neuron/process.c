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
/* How many of our handlers, which are registered twice, have run: the first one takes the locks and
 * the last one releases them. */
static __thread unsigned handlers __attribute__((tls_model("initial-exec")));

static void before_fork(void)
{
    if (handlers++ > 0)
        return;
    struct undisturbed before;
    undisturbed_begin(&before);
    systrace_lock();
    objects_lock();
    requests_lock();
    forking = before;
}

static void after_fork_in_parent(void)
{
    if (--handlers > 0)
        return;
    struct undisturbed before = forking;
    requests_unlock();
    objects_unlock();
    systrace_unlock();
    undisturbed_end(&before);
}

static void after_fork_in_child(void)
{
    if (handlers == 1)
        systrace_forked();
    after_fork_in_parent();
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* libkymo's handlers of fork are there already. Those of a runtime that is loaded later are not,
 * and what was registered last runs first before a fork: it would take the runtime's locks, and the
 * thread that fetches, which has ours, would wait for them. Hence once more with the runtime. */
__attribute__((constructor)) static void prepare(void)
{
    systrace_prepare(watch_forks);
    watch_forks();
}
