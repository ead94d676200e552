/*
 * What every call of the runtime asks first: whether it may run, on which cores, with which
 * settings.
 */
#include "neuron/runtime/state.h"

#include "base/clock.h"

#include <unistd.h>

struct runtime_settings settings;
struct vnc vncs[CORES_MAX];
struct lifecycle lifecycle = {.lock_file = -1};
pthread_mutex_t lifecycle_lock = PTHREAD_MUTEX_INITIALIZER;
/* Of profile.c, which hands out the runtime's handler of fork; that takes this lock. */
pthread_mutex_t profiles_lock = PTHREAD_MUTEX_INITIALIZER;

static atomic_uint calls; /* between runtime_enter and runtime_leave */
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t calls_ended = PTHREAD_COND_INITIALIZER;

NRT_STATUS runtime_enter(void)
{
    atomic_fetch_add(&calls, 1);
    enum runtime_phase now = lifecycle.phase;
    if (now == RUNTIME_READY)
        return NRT_SUCCESS;
    runtime_leave();
    return now == RUNTIME_BEFORE_INIT ? NRT_UNINITIALIZED : NRT_CLOSED;
}

void runtime_leave(void)
{
    if (atomic_fetch_sub(&calls, 1) == 1 && lifecycle.phase == RUNTIME_CLOSING) {
        pthread_mutex_lock(&calls_lock);
        pthread_cond_broadcast(&calls_ended);
        pthread_mutex_unlock(&calls_lock);
    }
}

void runtime_wait_for_calls(void (*wake)(void))
{
    wake();
    pthread_mutex_lock(&calls_lock);
    while (calls > 0) {
        /* A call may have begun to wait after it was woken. */
        struct timespec until = clock_after_ms(1000);
        pthread_cond_clockwait(&calls_ended, &calls_lock, CLOCK_MONOTONIC, &until);
        pthread_mutex_unlock(&calls_lock);
        wake();
        pthread_mutex_lock(&calls_lock);
    }
    pthread_mutex_unlock(&calls_lock);
}

bool runtime_has_forked(void)
{
    return lifecycle.has_forked;
}

bool runtime_is_closing(void)
{
    return lifecycle.phase == RUNTIME_CLOSING;
}

/* The child has neither the threads nor the cores, and nothing closes what another thread was
 * closing. */
void runtime_forked(void)
{
    if (lifecycle.phase == RUNTIME_READY || lifecycle.phase == RUNTIME_CLOSING) {
        lifecycle.phase = RUNTIME_BEFORE_INIT;
        lifecycle.has_forked = true;
        close(lifecycle.lock_file);
        lifecycle.lock_file = -1;
    }
    calls = 0;
}

struct vnc *vnc_at(int64_t index)
{
    return index >= 0 && index < settings.row.count ? &vncs[index] : NULL;
}

/* Devices count from when they were reset, each at a time of its own. */
uint64_t vnc_clock_ns(const struct vnc *vnc, int64_t time_ns)
{
    return (uint64_t)time_ns + (uint64_t)(vnc->logical + 1) * 1000000007;
}
