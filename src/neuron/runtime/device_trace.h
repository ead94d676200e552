/*
 * Events of the hardware, on the clock of its device.
 */
#ifndef KYMO_NEURON_RUNTIME_DEVICE_TRACE_H
#define KYMO_NEURON_RUNTIME_DEVICE_TRACE_H

#include "base/base.h"
#include "neuron/runtime/model.h"

/* One collective of an execution, in ticks since its start: triggered, all ranks there, done. */
struct collective_span {
    uint32_t index;
    uint64_t triggered, met, done;
};

/* Of one execution on one physical core. */
struct device_trace {
    const struct model *model;
    uint32_t core;
    uint64_t execution;
    bool collects; /* spans are wanted */
    ARRAY(struct collective_span) spans;
};

void device_trace_begin(struct device_trace *trace, const struct model *model, uint32_t core,
                        uint64_t execution);
void device_trace_notify(struct device_trace *trace, const struct notification *items,
                         size_t count);
/* The execution ended at a time of CLOCK_MONOTONIC, and took the result's ticks. */
void device_trace_end(struct device_trace *trace, const struct core_result *result, int64_t end_ns);
/* The host's clock and the device's, read at the same time. */
void device_trace_sync_point(const struct vnc *vnc, uint64_t execution);

uint64_t device_ns(uint64_t ticks);

#endif
