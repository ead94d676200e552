/*
 * The recorder's clock: selection, sampling, and conversion of ticks to nanoseconds.
 */
#include "capture/recorder/clock.h"

#include <pthread.h>

enum { TRIES = 8 };

bool clock_uses_counter;

static void ask_counter(void)
{
    clock_uses_counter = counter_is_steady();
}

enum ring_clock clock_choose(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask_counter);
    return clock_uses_counter ? counter_kind() : RING_CLOCK_MONOTONIC;
}

struct ring_sample clock_sample(void)
{
    struct ring_sample best = {.window = UINT64_MAX};
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = clock_ticks();
        int64_t monotonic = clock_monotonic_ns();
        uint64_t after = clock_ticks();
        if (after - before < best.window)
            best = (struct ring_sample){.ticks = before + (after - before) / 2,
                                        .window = after - before,
                                        .monotonic_ns = monotonic};
    }
    best.realtime_ns = best.monotonic_ns + clock_epoch_ns();
    return best;
}

static size_t whole_samples(const struct ring_session *session)
{
    uint64_t count = __atomic_load_n(&session->samples, __ATOMIC_ACQUIRE);
    return count < RING_CLOCK_SAMPLES ? (size_t)count : RING_CLOCK_SAMPLES;
}

/*
 * Samples close to each other say little about the slope: only those at least a 64th of the total
 * time apart are used, and the last.
 */
void clock_map_make(struct clock_map *map, const struct ring_session *session)
{
    const struct ring_sample *sample = session->sample;
    size_t count = whole_samples(session);
    *map = (struct clock_map){0};
    int64_t to_wall =
        count ? (int64_t)((uint64_t)sample[0].realtime_ns - (uint64_t)sample[0].monotonic_ns) : 0;
    uint64_t step = count ? (sample[count - 1].ticks - sample[0].ticks) / CLOCK_PIECES + 1 : 0;
    for (size_t i = 0; i < count; i++) {
        int64_t ns = clock_sum(sample[i].monotonic_ns, to_wall);
        bool inner = i > 0 && i + 1 < count;
        if (inner && sample[i].ticks - map->piece[map->count - 1].ticks < step)
            continue;
        if (i > 0 && (sample[i].ticks <= map->piece[map->count - 1].ticks ||
                      ns < map->piece[map->count - 1].ns))
            continue;
        if (map->count > CLOCK_PIECES)
            map->count--;
        map->piece[map->count].ticks = sample[i].ticks;
        map->piece[map->count++].ns = ns;
    }
    if (map->count == 0)
        map->count = 1;
    for (size_t i = 0; i + 1 < map->count; i++)
        map->piece[i].ns_per_tick =
            (double)((uint64_t)map->piece[i + 1].ns - (uint64_t)map->piece[i].ns) /
            (double)(map->piece[i + 1].ticks - map->piece[i].ticks);
    map->piece[map->count - 1].ns_per_tick =
        map->count > 1 ? map->piece[map->count - 2].ns_per_tick : 1;
    map->piece[map->count].ticks = UINT64_MAX; /* the last piece goes on */
}

int64_t clock_map_find(struct clock_map *map, uint64_t ticks)
{
    size_t low = 0, high = map->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (map->piece[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    map->last = low;
    int64_t away = (int64_t)(ticks - map->piece[low].ticks);
    return clock_sum(map->piece[low].ns, clock_scale((double)away, map->piece[low].ns_per_tick));
}
