/*
 * Clocks as nanoseconds, and the wall clock's distance from CLOCK_MONOTONIC. The latter takes two
 * readings, between which a thread may be suspended: the closest of a few tries is taken.
 */
#ifndef KYMO_CAPTURE_RECORDER_WALL_CLOCK_H
#define KYMO_CAPTURE_RECORDER_WALL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The wall clock's time at CLOCK_MONOTONIC's zero. */
static inline int64_t clock_epoch_ns(void)
{
    enum { TRIES = 8 };
    int64_t epoch = 0, narrowest = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        int64_t before = clock_now_ns(CLOCK_MONOTONIC);
        int64_t realtime = clock_now_ns(CLOCK_REALTIME);
        int64_t width = clock_now_ns(CLOCK_MONOTONIC) - before;
        if (width < narrowest) {
            narrowest = width;
            epoch = realtime - before - width / 2;
        }
    }
    return epoch;
}

#endif
