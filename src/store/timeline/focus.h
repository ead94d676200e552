/*
 * The focus: the part of a profile that a view should open with, where most events are. A few
 * events far from all others, such as one that was recorded long before the rest, are left out.
 * Internal to timeline.
 */
#ifndef KYMO_STORE_TIMELINE_FOCUS_H
#define KYMO_STORE_TIMELINE_FOCUS_H

#include "base/base.h"

/* A sample of the events, each representing `weight` of them. */
struct focus_event {
    int64_t start_ps, end_ps;
    double weight;
};

typedef ARRAY(struct focus_event) focus_events;

/* Adds the events of a track. */
void focus_add(focus_events *events, const int64_t *start_ps, const int64_t *end_ps, size_t count);

/* Narrows [from, to], the extent of the profile, to the part in [work_from, work_to], likewise. */
void focus_narrow(int64_t work_from_ps, int64_t work_to_ps, int64_t *from_ps, int64_t *to_ps);

/* Narrows [from, to], the extent of the profile, to its focus; leaves it unchanged when that is
 * most of it. */
void focus_find(focus_events *events, int64_t *from_ps, int64_t *to_ps);

#endif
