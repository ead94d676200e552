/*
 * Semaphores.
 */
#include "neuron/simulator/semaphores.h"

#include "neuron/simulator/completions.h"
#include "neuron/simulator/notify.h"

uint32_t semaphore_updated(uint32_t value, enum update_kind kind, uint32_t by)
{
    switch (kind) {
    case UPDATE_ADD:
        return value > UINT32_MAX - by ? UINT32_MAX : value + by;
    case UPDATE_SUBTRACT:
        return value < by ? 0 : value - by;
    default:
        return by;
    }
}

static void wake(struct core *core, uint32_t semaphore)
{
    uint32_t value = core->semaphores[semaphore];
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        struct engine_state *engine = &core->engines[e];
        if (!(core->waiting[semaphore] >> e & 1) || value < engine->code[engine->pc].wait_value)
            continue;
        core->waiting[semaphore] &= (uint8_t)~(1u << e);
        engine->is_waiting = false;
        engine->is_met = true;
        engine->waited = core->now - engine->ready;
        events_push(&core->events, core->now, EVENT_ISSUE, e, 0, 0);
    }
}

void semaphore_set(struct core *core, uint32_t semaphore, uint32_t value, unsigned engine,
                   uint32_t instruction)
{
    core->semaphores[semaphore] = value;
    if (core_is_profiled(core)) {
        completions_notify(core, engine, core->now);
        notify_at(core, core->now, NOTIFICATION_EVENT, PHASE_POINT, engine, semaphore, value,
                  instruction);
    }
    if (core->waiting[semaphore])
        wake(core, semaphore);
}
