/*
 * The recorder's own thread: it samples the clock, the CPUs and the memory while a capture runs,
 * and updates the heartbeat.
 */
#ifndef KYMO_CAPTURE_RECORDER_SAMPLER_H
#define KYMO_CAPTURE_RECORDER_SAMPLER_H

#include "capture/recorder/ring.h"

#include <stdbool.h>

struct sampler_options {
    const char *rings; /* must stay until sampler_stop */
    struct ring_session *session;
    unsigned cpu_util_ms, host_memory_ms; /* 0: not sampled */
    void (*prepare)(void);                /* called after sampler_wake */
};

/* Also takes the first sample of the clock. Without a thread, the last sample is the only other
 * one. */
void sampler_start(const struct sampler_options *options);
/* Has the thread call prepare. */
void sampler_wake(void);
/* Takes the last samples. */
void sampler_stop(void);
void sampler_lock(void);
void sampler_unlock(void);
/* In a child of fork, with the lock held: the thread is gone. */
void sampler_forked(void);

#endif
