/*
 * The sampling thread. Samples of CPUs and memory are appended to files that already are session
 * files (a protobuf message may be written in pieces), one write each, so that a killed program
 * leaves whole samples.
 */
#include "capture/recorder/sampler.h"

#include "base/clock.h"
#include "capture/recorder/append.h"
#include "capture/recorder/capture.h"
#include "capture/recorder/clock.h"
#include "capture/recorder/encode.h"
#include "capture/recorder/lock.h"
#include "capture/recorder/owner.h"
#include "capture/recorder/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MS = 1000000, /* nanoseconds */
    STACK_SIZE = 256 << 10,
    EARLY_SAMPLES = 500, /* of the clock, one a second; then fewer and fewer */
    LATE_SAMPLES = 100,
    SHORTEST_MS = 100, /* shortest interval for a useful last sample of the CPUs */
    HEARTBEAT_MS = 1000,
    LARGEST_SAMPLE = PROC_MOST_CPUS * 10 + 256,
};

#define SECOND ((int64_t)1000 * MS)

static struct {
    struct sampler_options options;
    pthread_t thread;
    bool has_thread, stopping, woken;
    struct lock lock; /* the thread itself takes the mutex alone: nothing disturbs it */
    pthread_cond_t wake;
    struct proc_cpus before, now;
    int64_t cpu_ns; /* when `before` was */
} sampler = {.lock = LOCK_INITIALIZER};

static void sample_clock(void)
{
    struct ring_session *session = sampler.options.session;
    uint64_t count = session->samples;
    session->sample[count < RING_CLOCK_SAMPLES ? count : RING_CLOCK_SAMPLES - 1] = clock_sample();
    if (count < RING_CLOCK_SAMPLES)
        __atomic_store_n(&session->samples, count + 1, __ATOMIC_RELEASE);
}

/* Until the next sample of the clock: soon at first, for programs that are killed early. */
static int64_t clock_pause_ns(void)
{
    uint64_t count = sampler.options.session->samples;
    if (count < 4)
        return count < 3 ? 10 * MS : 100 * MS;
    uint64_t doublings = count < EARLY_SAMPLES ? 0 : (count - EARLY_SAMPLES) / LATE_SAMPLES + 1;
    return SECOND << doublings;
}

static bool append(const char *name, const uint8_t *data, size_t size)
{
    return append_to_file(sampler.options.rings, name, data, size);
}

/* Both files begin alike: format, version and instance. */
static bool begin_file(const char *name, const char *format)
{
    uint8_t data[256], *to = encode_text(data, ENCODE_FORMAT, format);
    to = encode_number(to, 1, SESSION_VERSION);
    to = encode_text(to, 2, sampler.options.session->instance);
    return append(name, data, (size_t)(to - data));
}

static float percent(uint64_t part, uint64_t whole)
{
    return whole ? (float)(100.0 * (double)part / (double)whole) : 0;
}

/* A CPU's share of time between two looks; one that was not there before has none. */
static float busy_percent(const struct proc_cpu *now, const struct proc_cpu *before)
{
    if (now->id != before->id || now->total <= before->total || now->busy < before->busy)
        return 0;
    return percent(now->busy - before->busy, now->total - before->total);
}

/* One sample, written with one append. The static buffer has one user: the sampling thread, and
 * sampler_stop once that has ended. False ends the sampling of CPUs. */
static bool sample_cpus(void)
{
    static uint8_t data[LARGEST_SAMPLE];
    struct proc_cpus *now = &sampler.now, *before = &sampler.before;
    int64_t now_ns = clock_wall_ns();
    if (!proc_read_cpus(now))
        return false;
    uint8_t *to = data, *sample = to = encode_begin(to, 3);
    to = encode_fixed64(to, 1, (uint64_t)now_ns);
    to = encode_float(to, 2, busy_percent(&now->all, &before->all));
    uint8_t *ids = to = encode_begin(to, 3);
    for (size_t i = 0; i < now->count; i++)
        to = encode_varint(to, now->cpu[i].id);
    to = encode_end(ids, to);
    uint8_t *shares = to = encode_begin(to, 4);
    for (size_t i = 0; i < now->count; i++, to += sizeof(float)) {
        float share = i < before->count ? busy_percent(&now->cpu[i], &before->cpu[i]) : 0;
        memcpy(to, &share, sizeof share);
    }
    to = encode_end(shares, to);
    to = encode_number(to, 5, now_ns > sampler.cpu_ns ? (uint64_t)(now_ns - sampler.cpu_ns) : 0);
    to = encode_end(sample, to);
    *before = *now;
    sampler.cpu_ns = now_ns;
    return append("cpu_util.pb", data, (size_t)(to - data));
}

static bool sample_memory(void)
{
    struct proc_memory memory;
    if (!proc_read_memory(&memory))
        return false;
    uint64_t used = memory.total_bytes - memory.available_bytes;
    uint8_t data[128], *to = data, *sample = to = encode_begin(to, 3);
    to = encode_fixed64(to, 1, (uint64_t)clock_wall_ns());
    to = encode_number(to, 2, used);
    to = encode_float(to, 3, percent(used, memory.total_bytes));
    to = encode_number(to, 4, memory.total_bytes);
    to = encode_end(sample, to);
    return append("host_mem.pb", data, (size_t)(to - data));
}

/* Waits until then; false when the thread is to stop. */
static bool wait_until(int64_t when_ns)
{
    struct timespec when = clock_timespec(when_ns);
    pthread_mutex_lock(&sampler.lock.mutex);
    int result = 0;
    while (!sampler.stopping && !sampler.woken && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&sampler.wake, &sampler.lock.mutex, &when);
    bool more = !sampler.stopping;
    bool woken = sampler.woken;
    sampler.woken = false;
    pthread_mutex_unlock(&sampler.lock.mutex);
    if (more && woken)
        sampler.options.prepare();
    return more;
}

void sampler_wake(void)
{
    if (!lock_try(&sampler.lock))
        return; /* it is about to look, or somebody else wakes it: the next piece will do */
    sampler.woken = true;
    if (sampler.has_thread)
        pthread_cond_signal(&sampler.wake);
    lock_release(&sampler.lock);
}

enum { CLOCK, CPUS, MEMORY, HEARTBEAT, TASKS };

static int64_t earliest(const int64_t when[static TASKS])
{
    int64_t first = when[0];
    for (int i = 1; i < TASKS; i++)
        first = when[i] < first ? when[i] : first;
    return first;
}

/* The next multiple of the interval; missed ones are skipped. */
static int64_t next_beat(int64_t last, unsigned ms, int64_t now)
{
    int64_t next = last + (int64_t)ms * MS;
    return next > now ? next : now + (int64_t)ms * MS;
}

/* One loop for four tasks, each with its own due time. A task that fails is not tried again in this
 * capture. */
static void *sample(void *unused)
{
    (void)unused;
    const struct sampler_options *options = &sampler.options;
    int64_t start = clock_monotonic_ns();
    int64_t when[TASKS] = {
        [CLOCK] = start + clock_pause_ns(),
        [CPUS] = options->cpu_util_ms ? start + (int64_t)options->cpu_util_ms * MS : INT64_MAX,
        [MEMORY] = options->host_memory_ms ? start : INT64_MAX,
        [HEARTBEAT] = start + SECOND};
    pthread_setname_np(pthread_self(), "kymo");
    while (wait_until(earliest(when))) {
        int64_t now = clock_monotonic_ns();
        if (now >= when[HEARTBEAT]) {
            owner_beat(&options->session->owner);
            when[HEARTBEAT] = next_beat(when[HEARTBEAT], HEARTBEAT_MS, now);
        }
        if (now >= when[CLOCK]) {
            sample_clock();
            when[CLOCK] = now + clock_pause_ns();
        }
        if (now >= when[CPUS])
            when[CPUS] =
                sample_cpus() ? next_beat(when[CPUS], options->cpu_util_ms, now) : INT64_MAX;
        if (now >= when[MEMORY])
            when[MEMORY] =
                sample_memory() ? next_beat(when[MEMORY], options->host_memory_ms, now) : INT64_MAX;
    }
    return NULL;
}

/* Signals are the program's: none of them comes here. */
static void start_thread(void)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&sampler.wake, &clock);
    pthread_condattr_destroy(&clock);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    lock_take(&sampler.lock);
    sampler.has_thread = pthread_create(&sampler.thread, &attributes, sample, NULL) == 0;
    lock_release(&sampler.lock);
    signals_restore(&before);
    pthread_attr_destroy(&attributes);
    if (!sampler.has_thread) /* a heartbeat that is not updated would look like a dead program */
        __atomic_store_n(&sampler.options.session->owner.heartbeat_ns, 0, __ATOMIC_RELAXED);
}

void sampler_start(const struct sampler_options *options)
{
    sampler.options = *options;
    sampler.stopping = false;
    sample_clock();
    if (options->cpu_util_ms &&
        (!begin_file("cpu_util.pb", "kymo.cpu_util") || !proc_read_cpus(&sampler.before)))
        sampler.options.cpu_util_ms = 0;
    sampler.cpu_ns = clock_wall_ns();
    if (options->host_memory_ms && !begin_file("host_mem.pb", "kymo.host_mem"))
        sampler.options.host_memory_ms = 0;
    sample_clock();
    start_thread();
}

void sampler_stop(void)
{
    lock_take(&sampler.lock);
    bool has_thread = sampler.has_thread;
    sampler.has_thread = false;
    sampler.stopping = true;
    if (has_thread)
        pthread_cond_signal(&sampler.wake);
    lock_release(&sampler.lock);
    if (has_thread)
        pthread_join(sampler.thread, NULL);
    if (sampler.options.cpu_util_ms &&
        clock_wall_ns() - sampler.cpu_ns >= (int64_t)SHORTEST_MS * MS)
        sample_cpus();
    if (sampler.options.host_memory_ms)
        sample_memory();
    sample_clock();
    owner_beat(&sampler.options.session->owner); /* writing the session may take a while */
}

void sampler_lock(void)
{
    lock_take(&sampler.lock);
}

void sampler_unlock(void)
{
    lock_release(&sampler.lock);
}

void sampler_forked(void)
{
    sampler.has_thread = false;
}
