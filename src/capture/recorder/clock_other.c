/*
 * Processors without a counter known to be steady: the system's clock is used.
 */
#include "capture/recorder/counter.h"

bool counter_is_steady(void)
{
    return false;
}

enum ring_clock counter_kind(void)
{
    return RING_CLOCK_MONOTONIC;
}
