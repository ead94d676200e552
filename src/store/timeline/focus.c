/*
 * The focus of a profile: from the middle 99 % of the events outward to the first wide gap on both
 * sides.
 */
#include "store/timeline/focus.h"

enum { EVENTS_PER_TRACK = 256 };

#define OUTER_SHARE 0.005 /* of the events, on each side, that may lie far from the others */
#define WIDE_GAP    0.2   /* of the length so far */
#define MOST        0.9   /* of the profile's length: more is not worth narrowing */

void focus_add(focus_events *events, const int64_t *start_ps, const int64_t *end_ps, size_t count)
{
    size_t taken = count < EVENTS_PER_TRACK ? count : EVENTS_PER_TRACK;
    for (size_t i = 0; i < taken; i++) {
        size_t event = (size_t)(((double)i + 0.5) / (double)taken * (double)count);
        mem_touched(MEM_JUMP);
        *array_push(events) =
            (struct focus_event){start_ps[event], end_ps[event], (double)count / (double)taken};
    }
}

static bool starts_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct focus_event *)a)->start_ps < ((const struct focus_event *)b)->start_ps;
}

static double between(int64_t from, int64_t to)
{
    return (double)to - (double)from;
}

/* The middle of the events by weight: first and last index. */
static void find_middle(const focus_events *events, size_t *first, size_t *last)
{
    double total = 0, before = 0, behind = 0;
    const struct focus_event *event;
    array_each (event, events)
        total += event->weight;
    *first = 0;
    *last = events->count - 1;
    while (*first < *last && (before += events->items[*first].weight) <= OUTER_SHARE * total)
        ++*first;
    while (*last > *first && (behind += events->items[*last].weight) <= OUTER_SHARE * total)
        --*last;
}

void focus_narrow(int64_t work_from_ps, int64_t work_to_ps, int64_t *from_ps, int64_t *to_ps)
{
    int64_t from = work_from_ps > *from_ps ? work_from_ps : *from_ps;
    int64_t to = work_to_ps < *to_ps ? work_to_ps : *to_ps;
    if (to <= from || between(from, to) > MOST * between(*from_ps, *to_ps))
        return;
    *from_ps = from;
    *to_ps = to;
}

/* Extends the middle first to the right, then to the left, each time by at most a fifth of the
 * length so far: a gap's width is judged relative to what was found. */
void focus_find(focus_events *events, int64_t *from_ps, int64_t *to_ps)
{
    if (events->count == 0)
        return;
    sort_items(events->items, events->count, sizeof *events->items, starts_before, NULL);
    size_t first, last;
    find_middle(events, &first, &last);
    int64_t from = events->items[first].start_ps, to = events->items[first].end_ps;
    for (size_t i = first; i <= last; i++)
        if (events->items[i].end_ps > to)
            to = events->items[i].end_ps;
    for (; last + 1 < events->count; last++) {
        const struct focus_event *next = &events->items[last + 1];
        if (between(to, next->start_ps) > WIDE_GAP * between(from, to))
            break;
        if (next->end_ps > to)
            to = next->end_ps;
    }
    for (; first > 0; first--) {
        const struct focus_event *next = &events->items[first - 1];
        if (between(next->start_ps, from) > WIDE_GAP * between(from, to))
            break;
        from = next->start_ps;
    }
    focus_narrow(from, to, from_ps, to_ps);
}
