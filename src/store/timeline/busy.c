/*
 * Unions of busy time, merged two lists at a time.
 */
#include "store/timeline/busy.h"

enum { TOUCH_INTERVAL = 1024 };

void busy_add(interval_list *busy, int64_t start_ps, int64_t end_ps)
{
    if (end_ps <= start_ps)
        return;
    struct interval *last = busy->count ? &busy->items[busy->count - 1] : NULL;
    if (!last || start_ps > last->end_ps) {
        *array_push(busy) = (struct interval){start_ps, end_ps};
        if (busy->count % TOUCH_INTERVAL == 0)
            mem_touched(TOUCH_INTERVAL * sizeof *last);
    } else if (end_ps > last->end_ps) {
        last->end_ps = end_ps;
    }
}

static interval_list merge(const interval_list *a, const interval_list *b)
{
    interval_list merged = {0};
    size_t i = 0, k = 0;
    array_reserve(&merged, a->count + b->count);
    while (i < a->count || k < b->count) {
        bool is_first =
            k == b->count || (i < a->count && a->items[i].start_ps <= b->items[k].start_ps);
        const struct interval *next = is_first ? &a->items[i++] : &b->items[k++];
        busy_add(&merged, next->start_ps, next->end_ps);
        if ((i + k) % TOUCH_INTERVAL == 0)
            mem_touched(TOUCH_INTERVAL * sizeof *next);
    }
    return merged;
}

interval_list busy_union(interval_list *lists, size_t count)
{
    for (; count > 1; count = (count + 1) / 2)
        for (size_t i = 0; i < count; i += 2) {
            interval_list left = lists[i];
            if (i + 1 < count) {
                lists[i / 2] = merge(&left, &lists[i + 1]);
                array_free(&left);
                array_free(&lists[i + 1]);
            } else {
                lists[i / 2] = left;
            }
        }
    return count ? lists[0] : (interval_list){0};
}
