/*
 * Times of collectives, from the runtime's system trace.
 */
#ifndef KYMO_NEURON_RUN_NCCOM_SPANS_H
#define KYMO_NEURON_RUN_NCCOM_SPANS_H

#include "neuron/run/nccom/nccom.h"

/* One collective on a core, in nanoseconds of the device's clock. */
struct span {
    uint64_t core, execution, collective; /* execution: the runtime's number, ascending on a core */
    uint64_t start_ns, end_ns;
    struct text algorithm; /* points into the trace; empty when it does not say */
};

/* The text is what nrt_sys_trace_fetch_events gives. A collective begins with its cc_exec_barrier,
 * where it waits for the other ranks, and ends with its cc_running. Spans are in the order of their
 * ends; free with array_free. */
typedef ARRAY(struct span) span_list;
bool spans_read(struct text trace, span_list *spans, struct error *err);

#endif
