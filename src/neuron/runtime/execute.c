/*
 * Executions: binding tensors to a model's inputs and outputs, running its programs on the cores,
 * and recording its events.
 */
#include "neuron/runtime/execute.h"

#include "base/base.h"
#include "base/clock.h"
#include "capture/neuron/trace.h"
#include "neuron/runtime/device_trace.h"
#include "neuron/runtime/profile.h"
#include "neuron/runtime/tensor.h"
#include "neuron/runtime/tracker.h"
#include "neuron/simulator/neuroncore.h"

#include <string.h>
#include <time.h>

struct binding { /* of one input or output */
    struct tensor *tensor;
    struct view view;
};

struct execution {
    struct runtime_request request;
    struct model *model;
    struct binding *bindings;
    uint32_t repeat;
    bool is_scheduled;
    uint64_t id;
    uint8_t **fed; /* memory of inputs that get the outputs of the execution before */
};

/* One program of the model on one physical core. */
struct part {
    struct execution *execution;
    uint32_t core;
    uint8_t **variables;
    struct core_result result;
    struct sink *sink;
    struct rank rank;
    uint32_t number; /* of the execution in its profile, from 1 */
    struct device_trace trace;
};

static volatile bool canceled;
static atomic_ullong next_execution = 1;

void execute_cancel(bool is_on)
{
    __atomic_store_n(&canceled, is_on, __ATOMIC_RELAXED);
}

void execute_close(struct vnc *vnc)
{
    for (uint32_t i = 0; i < LOGICAL_MAX; i++) {
        if (vnc->cores[i])
            core_free(vnc->cores[i]);
        vnc->cores[i] = NULL;
    }
}

/* ---- Binding ------------------------------------------------------------------------------- */

static void unbind(struct execution *execution)
{
    for (uint32_t i = 0; i < execution->model->io_count; i++) {
        struct binding *binding = &execution->bindings[i];
        if (binding->view.storage) {
            storage_end_execution(binding->view.storage);
            view_put(&binding->view);
        }
        object_put(binding->tensor ? &binding->tensor->object : NULL);
    }
    mem_free(execution->bindings);
}

/* On success the binding owns the view, which counts as a use of the storage that copies wait for;
 * on failure it owns at most the tensor's reference. */
static NRT_STATUS bind(struct model *model, const struct model_io *io, struct tensor_set *set,
                       struct binding *binding)
{
    const struct variable *variable = io->variable;
    const char *what = io->is_output ? "output" : "input";
    binding->tensor = set_find(set, variable->name);
    if (!binding->tensor) {
        rt_error(RT_KMGR, "%s: no tensor for %s %s", model->info->header.name, what,
                 variable->name);
        return NRT_EXEC_BAD_INPUT;
    }
    struct view view = tensor_view(binding->tensor);
    if (!view.storage || view.size < variable->size) {
        rt_error(RT_KMGR, "%s: the tensor for %s %s has %zu bytes, it needs %llu",
                 model->info->header.name, what, variable->name, view.size,
                 (unsigned long long)variable->size);
        view_put(&view);
        return NRT_EXEC_BAD_INPUT;
    }
    if (view.vnc && view.vnc->stack != model->vnc->stack) {
        rt_error(RT_KMGR, "%s: the tensor for %s %s is in the memory of core %u, not of core %u",
                 model->info->header.name, what, variable->name, view.vnc->index,
                 model->vnc->index);
        view_put(&view);
        return NRT_INVALID;
    }
    binding->view = view;
    storage_add_execution(view.storage);
    return NRT_SUCCESS;
}

static NRT_STATUS bind_all(struct execution *execution, struct tensor_set *inputs,
                           struct tensor_set *outputs)
{
    struct model *model = execution->model;
    NRT_STATUS status = NRT_SUCCESS;
    for (uint32_t i = 0; status == NRT_SUCCESS && i < model->io_count; i++)
        status = bind(model, &model->io[i], model->io[i].is_output ? outputs : inputs,
                      &execution->bindings[i]);
    return status;
}

/* The n-th output becomes the n-th input: there must be one of its size. */
static bool can_repeat(const struct model *model)
{
    uint32_t outputs = model->io_count - model->input_count;
    if (outputs > model->input_count)
        return false;
    for (uint32_t i = 0; i < outputs; i++)
        if (model->io[i].variable->size != model->io[model->input_count + i].variable->size)
            return false;
    return true;
}

/* ---- Running ------------------------------------------------------------------------------- */

static struct core *core_of(struct vnc *vnc, uint32_t index)
{
    const struct core_options options = {.hardware = settings.instance->core,
                                         .compute = settings.compute,
                                         .cores_on_stack = vnc->cores_on_stack,
                                         .check_numbers = settings.check_numbers};
    if (!vnc->cores[index])
        vnc->cores[index] = core_new(&options);
    return vnc->cores[index];
}

static void fill_variables(const struct execution *execution, uint32_t program, uint8_t **variables)
{
    const struct model *model = execution->model;
    uint32_t count = model->info->programs[program].variable_count;
    if (!settings.compute)
        return;
    memcpy((void *)variables, (const void *)model->programs[program].variables,
           count * sizeof *variables);
    for (uint32_t i = 0; i < model->io_count; i++) {
        uint32_t index = model->io[i].index[program];
        if (index != NO_INDEX)
            variables[index] = i < model->input_count && execution->fed && execution->fed[i]
                                   ? execution->fed[i]
                                   : execution->bindings[i].view.data;
    }
}

static void notify(void *context, const struct notification *items, size_t count)
{
    struct part *part = context;
    if (part->sink)
        sink_notify(part->sink, items, count);
    if (part->trace.collects)
        device_trace_notify(&part->trace, items, count);
}

/* One physical core's part, on the core's thread or one of its own. A part that fails tells the
 * ranks that wait for it, so that they do not wait for the timeout. */
static void *run_part(void *argument)
{
    struct part *part = argument;
    struct model *model = part->execution->model;
    const struct core_exchange exchange = {.context = &part->rank,
                                           .rank = model->rank,
                                           .rank_count = model->rank_count,
                                           .run = rank_run_collective};
    const struct core_run run = {.program = &model->info->programs[part->core],
                                 .variables = part->variables,
                                 .exchange = model->rank_count > 1 ? &exchange : NULL,
                                 .timeout_ticks = settings.timeout_s * 1000000 *
                                                  hardware_ticks_per_us(settings.instance->core),
                                 .canceled = &canceled,
                                 .notify = part->sink || part->trace.collects ? notify : NULL,
                                 .notify_context = part,
                                 .dge_notifications = settings.dge_notifications,
                                 .execution = part->number};
    if (part->rank.world)
        rank_begin(&part->rank);
    core_execute(model->vnc->cores[part->core], &run, &part->result);
    if (part->rank.world)
        rank_end(&part->rank, part->result.status != NRT_SUCCESS &&
                                  part->result.status != NRT_EXEC_COMPLETED_WITH_NUM_ERR);
    return NULL;
}

/* An execution that was simulated faster than the device ends when the device would. */
static void wait_until(int64_t time_ns)
{
    enum { SLICE_NS = 10000000 };
    for (int64_t left; (left = time_ns - clock_monotonic_ns()) > 0 && !runtime_is_closing();) {
        struct timespec slice = {.tv_nsec = left < SLICE_NS ? left : SLICE_NS};
        nanosleep(&slice, NULL);
    }
}

static void close_sink(const struct execution *execution, struct part *part, int64_t end_ns)
{
    const struct vnc *vnc = execution->model->vnc;
    uint64_t ticks_per_us = hardware_ticks_per_us(settings.instance->core);
    uint64_t end_ticks = vnc_clock_ns(vnc, end_ns) / 1000 * ticks_per_us;
    uint64_t wall_ns = (uint64_t)(clock_epoch_ns() + end_ns);
    const struct ntff_execution done = {.index = part->number,
                                        .start_ns = wall_ns - device_ns(part->result.ticks),
                                        .end_ns = wall_ns,
                                        .start_ticks = end_ticks - part->result.ticks,
                                        .end_ticks = end_ticks,
                                        .status = part->result.status};
    sink_close(part->sink, &done);
}

static NRT_STATUS finish_parts(struct execution *execution, struct part *parts, int64_t start_ns)
{
    uint32_t count = execution->model->info->program_count;
    uint64_t longest = 0;
    for (uint32_t i = 0; i < count; i++)
        longest = parts[i].result.ticks > longest ? parts[i].result.ticks : longest;
    wait_until(start_ns + (int64_t)device_ns(longest));
    int64_t end_ns = clock_monotonic_ns();
    NRT_STATUS status = NRT_SUCCESS;
    for (uint32_t i = 0; i < count; i++) {
        device_trace_end(&parts[i].trace, &parts[i].result, end_ns);
        if (parts[i].sink)
            close_sink(execution, &parts[i], end_ns);
        if (parts[i].result.status != NRT_SUCCESS) {
            status = (NRT_STATUS)parts[i].result.status;
            rt_error(RT_KMGR, "%s on core %u: %s: %s", execution->model->info->header.name,
                     execution->model->vnc->index, nrt_get_status_as_str(status),
                     parts[i].result.message);
        }
        mem_free((void *)parts[i].variables);
    }
    device_trace_sync_point(execution->model->vnc, execution->id);
    return runtime_is_closing() && status != NRT_SUCCESS ? NRT_CLOSED : status;
}

/* All programs at once, each on its physical core. */
static NRT_STATUS run_once(struct execution *execution)
{
    struct model *model = execution->model;
    struct part parts[LOGICAL_MAX] = {{.execution = execution}, {.execution = execution}};
    uint32_t count = model->info->program_count;
    uint32_t number = (uint32_t)atomic_fetch_add(&model->executions, 1) + 1;
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = (struct part){.execution = execution, .core = i, .number = number};
        parts[i].variables =
            mem_zeroed(model->info->programs[i].variable_count + 1, sizeof *parts[i].variables);
        fill_variables(execution, i, parts[i].variables);
        parts[i].sink = sink_open(model, i, &parts[i].number);
        device_trace_begin(&parts[i].trace, model, i, execution->id);
        if (model->rank_count > 1)
            parts[i].rank = (struct rank){.world = world_get(model->rank_count, i),
                                          .number = model->rank,
                                          .count = model->rank_count};
        core_of(model->vnc, i);
    }
    pthread_t second;
    int64_t start_ns = clock_monotonic_ns();
    bool is_parallel = count > 1 && pthread_create(&second, NULL, run_part, &parts[1]) == 0;
    run_part(&parts[0]);
    if (is_parallel)
        pthread_join(second, NULL);
    else if (count > 1)
        run_part(&parts[1]);
    return finish_parts(execution, parts, start_ns);
}

static void feed_back(struct execution *execution)
{
    const struct model *model = execution->model;
    for (uint32_t i = 0; settings.compute && i < model->io_count - model->input_count; i++) {
        size_t size = model->io[i].variable->size;
        if (!execution->fed[i])
            execution->fed[i] = mem_alloc(size);
        memcpy(execution->fed[i], execution->bindings[model->input_count + i].view.data, size);
    }
}

static NRT_STATUS run_all(struct execution *execution)
{
    NRT_STATUS status = NRT_SUCCESS;
    for (uint32_t i = 0; i < execution->repeat && status == NRT_SUCCESS; i++) {
        if (i > 0)
            feed_back(execution);
        status = run_once(execution);
    }
    return status;
}

static void switch_model(struct execution *execution)
{
    struct vnc *vnc = execution->model->vnc;
    if (vnc->last_model != execution->model->id) {
        int64_t now = clock_monotonic_ns();
        trace_event_at(EVENT_nrt_model_switch, vnc->index, TRACE_POINT, 0, now,
                       kymo_uint("exec_id", execution->id),
                       kymo_uint("model_id", execution->model->id),
                       kymo_uint("nc_timestamp_ns", vnc_clock_ns(vnc, now)));
    }
    vnc->last_model = execution->model->id;
}

/* On the core's thread. */
static NRT_STATUS run(struct runtime_request *request)
{
    struct execution *execution = (struct execution *)request;
    struct model *model = execution->model;
    uint32_t core = model->vnc->index;
    uint64_t id = trace_next_id();
    trace_event(EVENT_kbl_exec_pre, core, TRACE_START, id, kymo_uint("exec_id", execution->id),
                kymo_uint("model_id", model->id), kymo_text("model_name", model->info->header.name),
                kymo_uint("rank_id", model->rank));
    for (uint32_t i = 0; i < model->io_count; i++)
        storage_wait_for_copies(execution->bindings[i].view.storage);
    trace_event(EVENT_kbl_exec_pre, core, TRACE_STOP, id);
    switch_model(execution);
    id = trace_next_id();
    trace_event(EVENT_kmgr_exec_core, core, TRACE_START, id, kymo_uint("exec_id", execution->id),
                kymo_uint("model_id", model->id));
    NRT_STATUS status = run_all(execution);
    trace_event(EVENT_kmgr_exec_core, core, TRACE_STOP, id);
    id = trace_next_id();
    trace_event(EVENT_kbl_exec_post, core, TRACE_START, id, kymo_uint("exec_id", execution->id));
    for (uint32_t i = model->input_count; i < model->io_count; i++)
        tensor_completed(execution->bindings[i].tensor);
    unbind(execution);
    execution->bindings = NULL;
    trace_event(EVENT_kbl_exec_post, core, TRACE_STOP, id);
    if (execution->is_scheduled)
        callback_run(model->id, core, execution->id, status);
    return status;
}

static void release(struct runtime_request *request)
{
    struct execution *execution = (struct execution *)request;
    if (execution->bindings)
        unbind(execution);
    for (uint32_t i = 0; execution->fed && i < execution->model->input_count; i++)
        mem_free(execution->fed[i]);
    mem_free((void *)execution->fed);
    tracker_put(request->errors);
    object_put(&execution->model->object);
    mem_free(execution);
}

/* ---- Calls --------------------------------------------------------------------------------- */

static struct execution *make(struct model *model, uint32_t repeat)
{
    struct execution *execution = mem_zeroed(1, sizeof *execution);
    execution->request.run = run;
    execution->request.release = release;
    execution->model = model;
    execution->bindings = mem_zeroed(model->io_count + 1, sizeof *execution->bindings);
    execution->repeat = repeat;
    execution->id = atomic_fetch_add(&next_execution, 1);
    if (repeat > 1)
        execution->fed = mem_zeroed(model->input_count + 1, sizeof *execution->fed);
    return execution;
}

/* Holds references to model and tensors until it is released, so that the program may free its
 * handles at once. */
struct runtime_request *execution_new(const nrt_model_t *handle, const nrt_tensor_set_t *inputs,
                                      const nrt_tensor_set_t *outputs, uint32_t repeat,
                                      struct vnc **vnc, NRT_STATUS *status)
{
    struct model *model = model_get(handle);
    struct tensor_set *input_set = set_get(inputs), *output_set = set_get(outputs);
    struct execution *execution = NULL;
    *status = model && input_set && output_set ? NRT_SUCCESS : NRT_INVALID_HANDLE;
    if (*status == NRT_SUCCESS && repeat > 1 && !can_repeat(model)) {
        rt_error(RT_KMGR, "%s: outputs and inputs differ in size, so it cannot be repeated",
                 model->info->header.name);
        *status = NRT_INVALID;
    }
    if (*status == NRT_SUCCESS) {
        object_reference(&model->object);
        execution = make(model, repeat);
        *vnc = model->vnc;
        *status = bind_all(execution, input_set, output_set);
        if (*status != NRT_SUCCESS) {
            release(&execution->request);
            execution = NULL;
        }
    }
    object_put(model ? &model->object : NULL);
    set_put(input_set);
    set_put(output_set);
    return execution ? &execution->request : NULL;
}

void execution_set_scheduled(struct runtime_request *request)
{
    ((struct execution *)request)->is_scheduled = true;
}

/* Waits for the queue in the calling thread. Events are those of Neuron's runtime, whose submission
 * is a step of its own. */
static NRT_STATUS execute(const nrt_model_t *handle, const nrt_tensor_set_t *inputs,
                          const nrt_tensor_set_t *outputs, int repeat)
{
    if (repeat < 1)
        return NRT_INVALID;
    NRT_STATUS status;
    struct vnc *vnc;
    struct runtime_request *request =
        execution_new(handle, inputs, outputs, (uint32_t)repeat, &vnc, &status);
    if (!request)
        return status;
    const struct execution *execution = (const struct execution *)request;
    uint64_t id = trace_next_id(), submit = trace_next_id();
    trace_event(EVENT_nrt_execute, vnc->index, TRACE_START, id,
                kymo_uint("model_id", execution->model->id),
                kymo_text("model_name", execution->model->info->header.name),
                kymo_uint("flop_count", 2 * execution->model->info->mac_count),
                kymo_uint("exec_id", execution->id));
    trace_event(EVENT_nrt_model_submit, vnc->index, TRACE_START, submit,
                kymo_uint("exec_id", execution->id));
    trace_event(EVENT_nrt_model_submit, vnc->index, TRACE_STOP, submit);
    uint64_t wait = trace_next_id();
    trace_event(EVENT_kbl_exec_wait, vnc->index, TRACE_START, wait,
                kymo_uint("exec_id", execution->id));
    status = queue_run(&vnc->queues[QUEUE_COMPUTE], request);
    trace_event(EVENT_kbl_exec_wait, vnc->index, TRACE_STOP, wait);
    release(request);
    if (status == NRT_SUCCESS)
        trace_event(EVENT_nrt_execute, vnc->index, TRACE_STOP, id);
    else
        trace_event(EVENT_nrt_execute, vnc->index, TRACE_STOP, id,
                    kymo_text("error", nrt_get_status_as_str(status)));
    return status;
}

NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                       nrt_tensor_set_t *output_set)
{
    WAIT_IN_RUNTIME(execute(model, input_set, output_set, 1));
}

NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                              nrt_tensor_set_t *output_set, int repeat_count)
{
    WAIT_IN_RUNTIME(execute(model, input_set, output_set, repeat_count));
}
