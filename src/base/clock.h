/*
 * The system's clocks as numbers, and the wall clock's distance from the monotonic one. Inline, so
 * that libraries inside programs can read them with libc alone.
 */
#ifndef KYMO_BASE_CLOCK_H
#define KYMO_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* For durations and deadlines: never set back. */
static inline int64_t clock_monotonic_ns(void)
{
    return clock_now_ns(CLOCK_MONOTONIC);
}

static inline int64_t clock_monotonic_ms(void)
{
    return clock_monotonic_ns() / 1000000;
}

/* Since 1970. */
static inline int64_t clock_wall_ns(void)
{
    return clock_now_ns(CLOCK_REALTIME);
}

static inline int64_t clock_wall_ms(void)
{
    return clock_wall_ns() / 1000000;
}

static inline struct timespec clock_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

/* That long from now on CLOCK_MONOTONIC, for pthread_cond_clockwait. */
static inline struct timespec clock_after_ns(int64_t ns)
{
    return clock_timespec(clock_monotonic_ns() + ns);
}

static inline struct timespec clock_after_ms(int64_t ms)
{
    return clock_after_ns(ms * 1000000);
}

/* The wall clock's time at CLOCK_MONOTONIC's zero. It takes two readings, between which a thread
 * may be suspended: the closest of a few tries is taken. */
static inline int64_t clock_epoch_ns(void)
{
    enum { TRIES = 8 };
    int64_t epoch = 0, narrowest = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        int64_t before = clock_monotonic_ns();
        int64_t wall = clock_wall_ns();
        int64_t width = clock_monotonic_ns() - before;
        if (width < narrowest) {
            narrowest = width;
            epoch = wall - before - width / 2;
        }
    }
    return epoch;
}

#endif
