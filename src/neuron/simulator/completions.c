/*
 * The ends of instructions, for profiles.
 */
#include "neuron/simulator/completions.h"

#include "neuron/simulator/notify.h"

bool completion_push(struct core *core, unsigned engine, unsigned order, uint64_t time, uint32_t pc,
                     uint32_t iteration)
{
    struct completion_queue *queue = &core->engines[engine].completions[order];
    if (queue->count == COMPLETIONS)
        return false;
    queue->items[(queue->head + queue->count++) % COMPLETIONS] =
        (struct completion){.time = time, .pc = pc, .iteration = iteration};
    return true;
}

void completions_notify(struct core *core, unsigned engine, uint64_t until)
{
    struct completion_queue *queues = core->engines[engine].completions;
    while (queues[0].count + queues[1].count > 0) {
        struct completion_queue *queue = &queues[queues[0].count == 0];
        if (queues[0].count > 0 && queues[1].count > 0 &&
            queues[1].items[queues[1].head].time < queues[0].items[queues[0].head].time)
            queue = &queues[1];
        const struct completion *first = &queue->items[queue->head];
        if (first->time > until)
            return;
        notify_at(core, first->time, NOTIFICATION_TRACE, PHASE_END, engine, first->pc, 0,
                  first->iteration);
        queue->head = (queue->head + 1) % COMPLETIONS;
        queue->count--;
    }
}
