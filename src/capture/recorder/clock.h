/*
 * The recorder's clock: the CPU's counter where it is steady, else CLOCK_MONOTONIC. Events carry
 * raw ticks; samples of both clocks, taken while the capture runs, say what they mean. Ticks are
 * first put on CLOCK_MONOTONIC, piece by piece, then on the wall clock as it stood when the capture
 * began, so that a wall clock that is set in between does not tear the timeline.
 */
#ifndef KYMO_CAPTURE_RECORDER_CLOCK_H
#define KYMO_CAPTURE_RECORDER_CLOCK_H

#include "base/clock.h"
#include "capture/recorder/counter.h"

#include <stdbool.h>

extern bool clock_uses_counter; /* set by clock_choose, once, before the first event */

enum ring_clock clock_choose(void);
/* The same moment on all clocks, as well as a few tries can tell. */
struct ring_sample clock_sample(void);

static inline uint64_t clock_ticks(void)
{
    if (__builtin_expect(clock_uses_counter, 1))
        return counter_read();
    return (uint64_t)clock_monotonic_ns();
}

/* From ticks to nanoseconds since the epoch. */
enum { CLOCK_PIECES = 64 };
struct clock_map {
    struct {
        uint64_t ticks;
        int64_t ns;
        double ns_per_tick; /* from here to the next */
    } piece[CLOCK_PIECES + 2];
    size_t count;
    size_t last; /* the piece used last: neighboring events share it */
};

void clock_map_make(struct clock_map *map, const struct ring_session *session);
int64_t clock_map_find(struct clock_map *map, uint64_t ticks);

/* With values from a damaged file, sums and differences wrap around: wrong, but defined. */
static inline int64_t clock_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t clock_scale(double ticks, double ns_per_tick)
{
    double ns = ticks * ns_per_tick, most = 9e18;
    return (int64_t)(ns > most ? most : ns < -most ? -most : ns);
}

static inline int64_t clock_map_ns(struct clock_map *map, uint64_t ticks)
{
    size_t i = map->last;
    if (ticks - map->piece[i].ticks < map->piece[i + 1].ticks - map->piece[i].ticks)
        return clock_sum(map->piece[i].ns, clock_scale((double)(ticks - map->piece[i].ticks),
                                                       map->piece[i].ns_per_tick));
    return clock_map_find(map, ticks);
}

#endif
