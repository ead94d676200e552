/*
 * The queue of simulated events.
 */
#include "neuron/simulator/events.h"

#include "base/base.h"

static inline bool is_before(const struct core_event *a, const struct core_event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void events_push(struct event_queue *queue, uint64_t time, enum event_kind kind, unsigned unit,
                 uint32_t number, uint32_t iteration)
{
    array_reserve(queue, queue->count + 1);
    struct core_event event = {.time = time,
                               .order = queue->pushed++ << 16 | unit << 8 | kind,
                               .number = number,
                               .iteration = iteration};
    size_t at = queue->count++;
    for (; at > 0; at = (at - 1) / 2) {
        const struct core_event *parent = &queue->items[(at - 1) / 2];
        if (!is_before(&event, parent))
            break;
        queue->items[at] = *parent;
    }
    queue->items[at] = event;
}

struct core_event events_pop(struct event_queue *queue)
{
    struct core_event first = queue->items[0], last = queue->items[--queue->count];
    size_t at = 0;
    for (size_t child = 1; child < queue->count; child = 2 * at + 1) {
        if (child + 1 < queue->count && is_before(&queue->items[child + 1], &queue->items[child]))
            child++;
        if (!is_before(&queue->items[child], &last))
            break;
        queue->items[at] = queue->items[child];
        at = child;
    }
    queue->items[at] = last;
    return first;
}

void events_clear(struct event_queue *queue)
{
    queue->count = 0;
    queue->pushed = 0;
}

void events_free(struct event_queue *queue)
{
    array_free(queue);
}
