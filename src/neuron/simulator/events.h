/*
 * The queue of simulated events: a binary heap, ordered by time and, at equal times, by the order
 * in which the events were pushed, so that a run is the same each time.
 */
#ifndef KYMO_NEURON_SIMULATOR_EVENTS_H
#define KYMO_NEURON_SIMULATOR_EVENTS_H

#include <stddef.h>
#include <stdint.h>

enum event_kind {
    EVENT_ISSUE,      /* an engine looks at its next instruction */
    EVENT_READ,       /* an instruction has read its operands */
    EVENT_COMPLETE,   /* an instruction's results are available */
    EVENT_DMA_BEGIN,  /* a DMA engine looks at its queue */
    EVENT_DMA_END,    /* a DMA engine's transfer ended */
    EVENT_BLOCK_DONE, /* a block's semaphore is due */
    EVENT_COLLECTIVE_DONE,
    EVENT_THROTTLE, /* the end of a window in which the Tensor engine's use is measured */
};

struct core_event {
    uint64_t time;
    uint64_t order; /* a counter, the kind in the lowest byte, the unit in the next */
    uint32_t number, iteration;
};

struct event_queue {
    struct core_event *items;
    size_t count, capacity;
    uint64_t pushed;
};

static inline enum event_kind event_kind(const struct core_event *event)
{
    return (enum event_kind)(event->order & 255);
}

static inline unsigned event_unit(const struct core_event *event)
{
    return (unsigned)(event->order >> 8) & 255;
}

void events_push(struct event_queue *queue, uint64_t time, enum event_kind kind, unsigned unit,
                 uint32_t number, uint32_t iteration);
/* The queue is not empty. */
struct core_event events_pop(struct event_queue *queue);
void events_clear(struct event_queue *queue);
void events_free(struct event_queue *queue);

#endif
