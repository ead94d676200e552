/*
 * The CPU's own counter: the one place in the recorder that differs between processors. Whether
 * the counter may be used is asked of clock_x86.c, clock_arm.c or clock_other.c.
 */
#ifndef KYMO_CAPTURE_RECORDER_COUNTER_H
#define KYMO_CAPTURE_RECORDER_COUNTER_H

#include "capture/recorder/ring.h"

#include <stdbool.h>

#if defined(__x86_64__)
static inline uint64_t counter_read(void)
{
    return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
static inline uint64_t counter_read(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#else
static inline uint64_t counter_read(void)
{
    return 0;
}
#endif

/* Runs at one speed on all cores, whatever the CPU's own speed and sleep. */
bool counter_is_steady(void);
enum ring_clock counter_kind(void);

#endif
