/*
 * Throttling. The array's use is measured in windows of 3 us, the first of which begins with the
 * first matmul after an idle window. In that one the rate is capped at half; a window with less
 * than half of its time used caps the next one, any other lifts the cap.
 */
#include "neuron/simulator/throttle.h"

#include "neuron/simulator/notify.h"
#include "neuron/simulator/timing.h"

enum { FULL_RATE = 1024 };

static void cap(struct core *core, bool is_capped, enum throttle_kind kind)
{
    core->tensor.is_capped = is_capped;
    if (core_is_profiled(core))
        notify_at(core, core->now, NOTIFICATION_THROTTLE, PHASE_POINT, ENGINE_TENSOR, kind,
                  is_capped ? FULL_RATE / 2 : FULL_RATE, 0);
}

static void open_window(struct core *core)
{
    struct tensor_state *tensor = &core->tensor;
    tensor->has_window = true;
    tensor->window_end = core->now + core_ns(core, THROTTLE_NS);
    tensor->busy = tensor->busy_next;
    tensor->busy_next = 0;
    events_push(&core->events, tensor->window_end, EVENT_THROTTLE, ENGINE_TENSOR, 0, 0);
}

void throttle_begin(struct core *core)
{
    if (!core->hardware->throttles || core->tensor.has_window)
        return;
    cap(core, true, THROTTLE_ACTIVITY_0);
    open_window(core);
}

void throttle_add(struct core *core, uint64_t ticks)
{
    struct tensor_state *tensor = &core->tensor;
    if (!tensor->has_window)
        return;
    uint64_t left = tensor->window_end - core->now;
    tensor->busy += ticks < left ? ticks : left;
    tensor->busy_next += ticks < left ? 0 : ticks - left;
}

void throttle_measure(struct core *core)
{
    struct tensor_state *tensor = &core->tensor;
    if (tensor->busy == 0 && tensor->busy_next == 0) {
        tensor->has_window = false; /* idle: capped when it resumes */
        return;
    }
    bool is_low = 2 * tensor->busy < core_ns(core, THROTTLE_NS);
    if (is_low != tensor->is_capped)
        cap(core, is_low, THROTTLE_ACTIVITY_1);
    open_window(core);
}
