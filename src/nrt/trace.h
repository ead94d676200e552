/*
 * nrt: the runtime's library, libnrt.so.1. Its public interface is include/nrt; this header is for
 * those who execute models or stand between a program and its runtime, and tell what happens.
 *
 *     uint64_t id = trace_next_id();
 *     trace_event(EVENT_nrt_execute, core, TRACE_START, id, kymo_uint("model_id", model));
 *     ...
 *     trace_event(EVENT_nrt_execute, core, TRACE_STOP, id);
 *
 * An event goes to where somebody wants it: to the rings of nrt_sys_trace_start, if one is running,
 * and to libkymo's capture, if one is running, each with its own filters. With none it costs two
 * loads and a branch, and args are not evaluated. May be called from any thread, but not from
 * signal handlers; errno stays as it is.
 */
#ifndef KYMO_NRT_TRACE_H
#define KYMO_NRT_TRACE_H

#include "events/events.h"
#include "kymo/kymo.h"

enum trace_phase { TRACE_POINT, TRACE_START, TRACE_STOP };
#define TRACE_NO_CORE UINT32_MAX

struct trace_record {
    enum event_type type;
    uint32_t core; /* nc_idx, or TRACE_NO_CORE */
    enum trace_phase phase;
    uint64_t tracking_id; /* start and stop of one event share it */
    int64_t monotonic_ns; /* when it was, on CLOCK_MONOTONIC; 0 for now */
};

/* Keys are texts that last as long as the program; values are copied. */
void trace_emit(const struct trace_record *event, const struct kymo_arg *args, size_t count);

/* Never the same in a process; 0 is none. */
uint64_t trace_next_id(void);

extern bool trace_in_rings; /* nrt_sys_trace_start was called */

/* Whether anybody wants events. */
static inline bool trace_is_on(void)
{
    return __builtin_expect(__atomic_load_n(&trace_in_rings, __ATOMIC_RELAXED), 0) || kymo_wants(1);
}

/* An empty arg stands first, so that there may be no others. */
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
