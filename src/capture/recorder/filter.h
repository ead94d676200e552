/*
 * The event filter of the running capture; applies to lanes of a runtime.
 */
#ifndef KYMO_CAPTURE_RECORDER_FILTER_H
#define KYMO_CAPTURE_RECORDER_FILTER_H

#include "capture/events/events.h"

struct kymo_lane;

extern bool filter_is_set;

/* Between captures. */
void filter_set(const struct event_filter *filter);

/* core RING_NO_CORE: that of the lane. */
bool filter_asked(uint32_t name, uint16_t core, const struct kymo_lane *lane);

static inline bool filter_passes(uint32_t name, uint16_t core, const struct kymo_lane *lane)
{
    return !__atomic_load_n(&filter_is_set, __ATOMIC_RELAXED) || filter_asked(name, core, lane);
}

#endif
