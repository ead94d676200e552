/*
 * How long a counter's samples are valid. Internal to timeline.
 */
#ifndef KYMO_STORE_TIMELINE_SAMPLES_H
#define KYMO_STORE_TIMELINE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/* Sets the end of each sample. It is the start of the next one, except where a counter that is read
 * periodically was not read for several periods: there a sample lasts one period, followed by no
 * value. Counters without a period are written when their value changes, and keep it. */
void samples_end(const int64_t *start_ps, int64_t *end_ps, size_t count);

#endif
