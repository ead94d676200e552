/*
 * A core: making one, and running a program from its first event to its last.
 */
#include "neuron/simulator/neuroncore.h"

#include "neuron/simulator/arithmetic.h"
#include "neuron/simulator/collectives.h"
#include "neuron/simulator/completions.h"
#include "neuron/simulator/dma.h"
#include "neuron/simulator/engine.h"
#include "neuron/simulator/notify.h"
#include "neuron/simulator/state.h"
#include "neuron/simulator/throttle.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

enum { POLL_EVENTS = 1024 }; /* between two checks of `canceled` */

struct core *core_new(const struct core_options *options)
{
    struct core *core = mem_zeroed(1, sizeof *core);
    core->options = *options;
    core->hardware = options->hardware;
    core->ticks_per_us = hardware_ticks_per_us(core->hardware);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        core->cycle_ticks[e] = hardware_cycle_ticks(core->hardware, (enum engine)e);
    if (options->compute) {
        core->sbuf = mem_zeroed(PARTITIONS, core->hardware->sbuf_bytes);
        core->psum = mem_zeroed(PARTITIONS, PSUM_BYTES);
        core->arithmetic = arithmetic_new();
    }
    return core;
}

void core_free(struct core *core)
{
    if (!core)
        return;
    dma_free(core);
    events_free(&core->events);
    mem_free(core->collective_ready);
    mem_free(core->collective_all_ready);
    mem_free(core->sbuf);
    mem_free(core->psum);
    arithmetic_free(core->arithmetic);
    mem_free(core);
}

/* Resets everything that a run changes except SBUF and PSUM, whose content survives as on hardware;
 * every engine begins at time 0. */
static void prepare(struct core *core, const struct core_run *run, struct core_result *result)
{
    *result = (struct core_result){0};
    core->run = run;
    core->program = run->program;
    core->result = result;
    events_clear(&core->events);
    core->now = core->end = 0;
    core->is_stopped = false;
    memset(core->engines, 0, sizeof core->engines);
    memset(core->semaphores, 0, sizeof core->semaphores);
    memset(core->waiting, 0, sizeof core->waiting);
    core->sbuf_port_free = core->psum_port_free = 0;
    core->tensor = (struct tensor_state){0};
    memset(core->cc_free, 0, sizeof core->cc_free);
    core->notification_count = 0;
    mem_free(core->collective_ready);
    mem_free(core->collective_all_ready);
    core->collective_ready = mem_zeroed(run->program->collective_count, sizeof(uint64_t));
    core->collective_all_ready = mem_zeroed(run->program->collective_count, sizeof(uint64_t));
    dma_prepare(core);
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        core->engines[e].code = run->program->code[e];
        core->engines[e].count = run->program->code_count[e];
        if (core->engines[e].count > 0)
            events_push(&core->events, 0, EVENT_ISSUE, e, 0, 0);
    }
}

/* A switch without a default, so that the compiler reports an event kind without a case. */
static void dispatch(struct core *core, const struct core_event *event)
{
    unsigned unit = event_unit(event);
    switch (event_kind(event)) {
    case EVENT_ISSUE:
        engine_issue(core, (enum engine)unit);
        break;
    case EVENT_READ:
        engine_read(core, (enum engine)unit, event->number);
        break;
    case EVENT_COMPLETE:
        engine_complete(core, (enum engine)unit, event->number, event->iteration);
        break;
    case EVENT_DMA_BEGIN:
        dma_begin(core, unit);
        break;
    case EVENT_DMA_END:
        dma_end(core, unit);
        break;
    case EVENT_BLOCK_DONE:
        dma_block_done(core, event->number);
        break;
    case EVENT_COLLECTIVE_DONE:
        collective_done(core, (enum engine)unit, event->number);
        break;
    case EVENT_THROTTLE:
        throttle_measure(core);
        break;
    }
}

/* The first engine that waits, for the position of an error. */
static unsigned first_waiting(const struct core *core)
{
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        if (core->engines[e].is_waiting)
            return e;
    return ENGINE_COUNT;
}

static void report_no_end(struct core *core, const char *what)
{
    char waits[200];
    describe_waits(core, waits, sizeof waits);
    unsigned engine = first_waiting(core);
    bool found = engine < ENGINE_COUNT;
    core_error(core, RUN_TIMEOUT, ERROR_TIMEOUT, found ? engine : 0,
               found ? core->engines[engine].pc : NO_INDEX,
               found ? core->engines[engine].code[core->engines[engine].pc].wait_semaphore
                     : NO_INDEX,
               "%s%s%s", what, found ? ": " : "", waits);
}

static bool is_canceled(const struct core *core)
{
    return core->run->canceled && __atomic_load_n(core->run->canceled, __ATOMIC_RELAXED);
}

/* Ends when no events are left, at an error, at the time limit or when it is canceled from another
 * thread. Windows of the throttle do not extend the run. Engines that still wait then wait forever:
 * a deadlock. */
static void loop(struct core *core)
{
    uint64_t limit = core->run->timeout_ticks ? core->run->timeout_ticks : UINT64_MAX;
    for (uint32_t count = 0; core->events.count > 0 && !core->is_stopped; count++) {
        struct core_event event = events_pop(&core->events);
        if (event_kind(&event) == EVENT_THROTTLE && core->events.count == 0)
            continue; /* no other events are left */
        if (event.time > limit) {
            core->now = core->end = limit;
            report_no_end(core, "The execution timed out");
            return;
        }
        core->now = event.time;
        if (event_kind(&event) != EVENT_THROTTLE && core->now > core->end)
            core->end = core->now;
        dispatch(core, &event);
        if (count % POLL_EVENTS == 0 && is_canceled(core)) {
            core->result->status = RUN_FAILURE;
            snprintf(core->result->message, sizeof core->result->message,
                     "The execution was canceled");
            return;
        }
    }
    if (!core->is_stopped && first_waiting(core) < ENGINE_COUNT) {
        core->now = core->end;
        report_no_end(core, "The program is deadlocked");
    }
}

void core_execute(struct core *core, const struct core_run *run, struct core_result *result)
{
    prepare(core, run, result);
    loop(core);
    if (run->notify) {
        for (unsigned e = 0; e < ENGINE_COUNT; e++)
            completions_notify(core, e, core->end);
        notify_flush(core);
    }
    result->ticks = core->end;
    core->run = NULL;
    core->program = NULL;
    core->result = NULL;
}
