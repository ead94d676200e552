/*
 * Notifications and errors.
 */
#include "neuron/simulator/notify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void notify_flush(struct core *core)
{
    if (core->notification_count > 0)
        core->run->notify(core->run->notify_context, core->notifications, core->notification_count);
    core->notification_count = 0;
}

/* Whether a run with this status continued to its end. */
static bool is_complete_status(uint32_t status)
{
    return status == RUN_SUCCESS || status == RUN_NUMERIC_ERROR || status == RUN_OUT_OF_BOUNDS;
}

void core_error(struct core *core, enum run_status status, enum error_kind kind, unsigned unit,
                uint32_t where, uint32_t what, const char *format, ...)
{
    if (core_is_profiled(core))
        notify_at(core, core->now, NOTIFICATION_ERROR, PHASE_POINT, unit, kind, where, what);
    struct core_result *result = core->result;
    bool ends = !is_complete_status(status);
    core->is_stopped |= ends;
    if (result->status != RUN_SUCCESS && !(ends && is_complete_status(result->status)))
        return;
    result->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->message, sizeof result->message, format, arguments);
    va_end(arguments);
}

void describe_waits(const struct core *core, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        const struct engine_state *engine = &core->engines[e];
        if (!engine->is_waiting)
            continue;
        const struct instruction *instruction = &engine->code[engine->pc];
        int length =
            snprintf(text + used, size - used,
                     "%s%s waits at instruction %u (%s) for semaphore %u >= %u, which is %u",
                     used ? "; " : "", hardware_engine_name((enum engine)e), engine->pc,
                     opcode_name(instruction->opcode), instruction->wait_semaphore,
                     instruction->wait_value, core->semaphores[instruction->wait_semaphore]);
        if (length < 0 || used + (size_t)length >= size) {
            text[used] = '\0'; /* no half sentence */
            return;
        }
        used += (size_t)length;
    }
}
