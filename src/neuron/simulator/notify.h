/*
 * Notifications, in batches, and errors: an error is a notification, a status and a sentence.
 */
#ifndef KYMO_NEURON_SIMULATOR_NOTIFY_H
#define KYMO_NEURON_SIMULATOR_NOTIFY_H

#include "neuron/simulator/state.h"

void notify_flush(struct core *core);

/* Only when the run is profiled. */
static inline void notify_push(struct core *core, struct notification notification)
{
    core->notifications[core->notification_count++] = notification;
    if (core->notification_count == NOTIFICATION_BATCH)
        notify_flush(core);
}

static inline void notify_at(struct core *core, uint64_t time, enum notification_type type,
                             enum notification_phase phase, unsigned unit, uint32_t id,
                             uint32_t value, uint32_t detail)
{
    notify_push(core, (struct notification){.time = time,
                                            .id = id,
                                            .value = value,
                                            .detail = detail,
                                            .type = (uint8_t)type,
                                            .phase = (uint8_t)phase,
                                            .unit = (uint8_t)unit});
}

/* An error of the run. The first one sets the status and the message, unless it let the run
 * continue and a later one does not. `where` is an instruction or descriptor, `what` a variable,
 * memory or collective. */
__attribute__((format(printf, 7, 8))) void core_error(struct core *core, enum run_status status,
                                                      enum error_kind kind, unsigned unit,
                                                      uint32_t where, uint32_t what,
                                                      const char *format, ...);
/* "Tensor waits at instruction 3 (MATMUL) for semaphore 5 >= 2, which is 1; ..." */
void describe_waits(const struct core *core, char *text, size_t size);

#endif
