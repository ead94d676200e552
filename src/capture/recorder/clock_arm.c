/*
 * The generic timer's virtual counter: one speed on all cores by definition (Arm ARM, D12.1).
 */
#include "capture/recorder/counter.h"

bool counter_is_steady(void)
{
    return true;
}

enum ring_clock counter_kind(void)
{
    return RING_CLOCK_CNTVCT;
}
