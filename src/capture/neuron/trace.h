/*
 * trace: events of the runtime's library, libnrt.so.1, whose public API is include/nrt. This header
 * is for code that executes models or intercepts runtime calls, and emits events.
 *
 *     uint64_t id = trace_next_id();
 *     trace_event(EVENT_nrt_execute, core, TRACE_START, id, kymo_uint("model_id", model));
 *     ...
 *     trace_event(EVENT_nrt_execute, core, TRACE_STOP, id);
 *
 * An event goes to the rings of nrt_sys_trace_start and to libkymo's capture, whichever is running,
 * each with its own filters. With none it costs two loads and a branch, and args are not evaluated.
 * May be called from any thread, but not from signal handlers; errno is preserved.
 */
#ifndef KYMO_CAPTURE_NEURON_TRACE_H
#define KYMO_CAPTURE_NEURON_TRACE_H

#include "capture/events/events.h"
#include "kymo/kymo.h"

enum trace_phase { TRACE_POINT, TRACE_START, TRACE_STOP };
#define TRACE_NO_CORE UINT32_MAX

struct trace_record {
    enum runtime_event type;
    uint32_t core; /* nc_idx, or TRACE_NO_CORE */
    enum trace_phase phase;
    uint64_t tracking_id; /* start and stop of one event share it */
    int64_t monotonic_ns; /* time on CLOCK_MONOTONIC; 0 for now */
};

/* Keys must be static strings; values are copied. */
void trace_emit(const struct trace_record *event, const struct kymo_arg *args, size_t count);

/* Unique within a process, never 0. */
uint64_t trace_next_id(void);

extern bool trace_in_rings; /* nrt_sys_trace_start was called */

/* Whether rings or a capture are running. */
static inline bool trace_is_on(void)
{
    return __builtin_expect(__atomic_load_n(&trace_in_rings, __ATOMIC_RELAXED), 0) || kymo_wants(1);
}

/* The empty first arg allows for an otherwise empty list. */
#define trace_event_at(type_, core_, phase_, id_, monotonic_ns_, ...)                              \
    do {                                                                                           \
        if (trace_is_on()) {                                                                       \
            const struct kymo_arg trace_args_[] = {kymo_int(NULL, 0), ##__VA_ARGS__};              \
            trace_emit(&(struct trace_record){(type_), (core_), (phase_), (id_), (monotonic_ns_)}, \
                       trace_args_ + 1, sizeof trace_args_ / sizeof *trace_args_ - 1);             \
        }                                                                                          \
    } while (0)
#define trace_event(type, core, phase, id, ...)                                                    \
    trace_event_at(type, core, phase, id, 0, ##__VA_ARGS__)

#endif
