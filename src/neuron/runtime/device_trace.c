/*
 * Hardware events of the system trace.
 */
#include "neuron/runtime/device_trace.h"

#include "base/clock.h"
#include "capture/neuron/trace.h"

uint64_t device_ns(uint64_t ticks)
{
    return ticks * 1000 / hardware_ticks_per_us(settings.instance->core);
}

void device_trace_begin(struct device_trace *trace, const struct model *model, uint32_t core,
                        uint64_t execution)
{
    *trace = (struct device_trace){.model = model, .core = core, .execution = execution};
    trace->collects = model->info->programs[core].collective_count > 0 && trace_is_on();
}

/* The latest span of a collective; NULL when it was not triggered. */
static struct collective_span *find(struct device_trace *trace, uint32_t index)
{
    for (size_t i = trace->spans.count; i-- > 0;)
        if (trace->spans.items[i].index == index)
            return &trace->spans.items[i];
    return NULL;
}

static void note(struct device_trace *trace, const struct notification *item)
{
    if (item->value == STEP_TPB_TRIGGER) {
        *array_push(&trace->spans) =
            (struct collective_span){item->id, item->time, item->time, item->time};
        return;
    }
    struct collective_span *span = find(trace, item->id);
    if (!span || item->phase != PHASE_END)
        return;
    if (item->value == STEP_SEMAPHORE_WAIT)
        span->met = item->time;
    if (item->time > span->done)
        span->done = item->time;
}

void device_trace_notify(struct device_trace *trace, const struct notification *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (items[i].type == NOTIFICATION_COLLECTIVE)
            note(trace, &items[i]);
}

/* An interval of the device; times are the host's. */
static void emit(const struct device_trace *trace, enum runtime_event type, int64_t start_ns,
                 int64_t end_ns, struct kymo_arg first, struct kymo_arg second)
{
    const struct vnc *vnc = trace->model->vnc;
    uint64_t id = trace_next_id();
    trace_event_at(type, vnc->index, TRACE_START, id, start_ns,
                   kymo_uint("exec_id", trace->execution),
                   kymo_uint("device_core_idx", vnc->core_in_chip + trace->core),
                   kymo_uint("nc_timestamp_ns", vnc_clock_ns(vnc, start_ns)), first, second);
    trace_event_at(type, vnc->index, TRACE_STOP, id, end_ns,
                   kymo_uint("nc_timestamp_ns", vnc_clock_ns(vnc, end_ns)));
}

static void emit_error(const struct device_trace *trace, const struct core_result *result,
                       int64_t end_ns)
{
    const struct vnc *vnc = trace->model->vnc;
    enum runtime_event type =
        result->status == NRT_EXEC_COMPLETED_WITH_NUM_ERR ? EVENT_numerical_err : EVENT_hw_notify;
    trace_event_at(type, vnc->index, TRACE_POINT, 0, end_ns, kymo_uint("exec_id", trace->execution),
                   kymo_uint("status", result->status),
                   kymo_uint("nc_timestamp_ns", vnc_clock_ns(vnc, end_ns)),
                   kymo_text("message", result->message));
}

void device_trace_end(struct device_trace *trace, const struct core_result *result, int64_t end_ns)
{
    int64_t start_ns = end_ns - (int64_t)device_ns(result->ticks);
    const struct core_program *program = &trace->model->info->programs[trace->core];
    emit(trace, EVENT_nc_exec_running, start_ns, end_ns, kymo_uint("model_id", trace->model->id),
         kymo_text("model_name", trace->model->info->header.name));
    for (size_t i = 0; i < trace->spans.count; i++) {
        const struct collective_span *span = &trace->spans.items[i];
        int64_t met_ns = start_ns + (int64_t)device_ns(span->met);
        const struct kymo_arg index = kymo_uint("collective", span->index);
        const struct kymo_arg algorithm = kymo_text(
            "algorithm", core_algorithm(settings.instance->core, &program->collectives[span->index],
                                        trace->model->rank_count));
        emit(trace, EVENT_cc_exec_barrier, start_ns + (int64_t)device_ns(span->triggered), met_ns,
             index, algorithm);
        emit(trace, EVENT_cc_running, met_ns, start_ns + (int64_t)device_ns(span->done), index,
             algorithm);
    }
    if (result->status != NRT_SUCCESS)
        emit_error(trace, result, end_ns);
    array_free(&trace->spans);
}

void device_trace_sync_point(const struct vnc *vnc, uint64_t execution)
{
    int64_t now = clock_monotonic_ns();
    trace_event_at(EVENT_timestamp_sync_point, vnc->index, TRACE_POINT, 0, now,
                   kymo_uint("exec_id", execution),
                   kymo_int("cpu_timestamp_ns", clock_epoch_ns() + now),
                   kymo_uint("nc_timestamp_ns", vnc_clock_ns(vnc, now)));
}
