/*
 * Pairs starts with stops: sorts by key and time, then uses a stack for each key.
 */
#include "model/event_pairs.h"

enum { CHECK_EVERY = 4096 };

void event_pairs_add(struct event_pairs *pairs, uint64_t key, int64_t time, uint64_t position,
                     bool is_stop)
{
    *array_push(&pairs->marks) = (struct pair_mark){key, time, position << 1 | is_stop};
}

static bool mark_before(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct pair_mark *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key;
    return left->time != right->time ? left->time < right->time : left->position < right->position;
}

static bool pair_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct event_pair *)a)->start < ((const struct event_pair *)b)->start;
}

static bool position_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return *(const uint64_t *)a < *(const uint64_t *)b;
}

/* Frees the marks, which may be as large as the events themselves. Unmatched starts are only
 * counted; unmatched stops are kept, since readers meet them as records. */
void event_pairs_make(struct event_pairs *pairs)
{
    const struct pair_mark *marks = pairs->marks.items;
    ARRAY(uint64_t) open = {0};
    if (pairs->marks.count > 0)
        sort_items(pairs->marks.items, pairs->marks.count, sizeof *pairs->marks.items, mark_before,
                   NULL);
    for (size_t i = 0; i < pairs->marks.count; i++) {
        if (i % CHECK_EVERY == 0)
            mem_touched((size_t)2 * CHECK_EVERY * sizeof *marks);
        if (i > 0 && marks[i].key != marks[i - 1].key) {
            pairs->unmatched_starts += open.count;
            open.count = 0;
        }
        uint64_t position = marks[i].position >> 1;
        if (!(marks[i].position & 1))
            *array_push(&open) = position;
        else if (open.count > 0)
            *array_push(&pairs->pairs) = (struct event_pair){open.items[--open.count], position};
        else
            *array_push(&pairs->unmatched_stops) = position;
    }
    pairs->unmatched_starts += open.count;
    array_free(&open);
    array_free(&pairs->marks);
    if (pairs->pairs.count > 0)
        sort_items(pairs->pairs.items, pairs->pairs.count, sizeof *pairs->pairs.items, pair_before,
                   NULL);
    if (pairs->unmatched_stops.count > 0)
        sort_items(pairs->unmatched_stops.items, pairs->unmatched_stops.count,
                   sizeof *pairs->unmatched_stops.items, position_before, NULL);
}

void event_pairs_free(struct event_pairs *pairs)
{
    array_free(&pairs->marks);
    array_free(&pairs->pairs);
    array_free(&pairs->unmatched_stops);
}

bool event_pairs_stop(const struct event_pairs *pairs, uint64_t start, uint64_t *stop)
{
    size_t low = 0, high = pairs->pairs.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pairs->pairs.items[middle].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == pairs->pairs.count || pairs->pairs.items[low].start != start)
        return false;
    *stop = pairs->pairs.items[low].stop;
    return true;
}

bool event_pairs_is_unmatched_stop(const struct event_pairs *pairs, uint64_t stop)
{
    size_t low = 0, high = pairs->unmatched_stops.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pairs->unmatched_stops.items[middle] < stop)
            low = middle + 1;
        else
            high = middle;
    }
    return low < pairs->unmatched_stops.count && pairs->unmatched_stops.items[low] == stop;
}
