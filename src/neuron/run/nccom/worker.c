/*
 * Loads the NEFFs of a plan one after the other, executes them and checks the outputs.
 */
#include "neuron/run/nccom/worker.h"

#include "neuron/run/nccom/data.h"
#include "neuron/run/nccom/spans.h"

#include <inttypes.h>
#include <stdio.h>

/* A failure of all ranks at once, in meeting or in a collective, is caused by another rank. */
static bool check(struct nccom_worker *worker, NRT_STATUS status, const char *what)
{
    worker->gave_up = status == NRT_EXEC_HW_ERR_COLLECTIVES;
    return library_check(worker->library, status, what, &worker->error);
}

/* ---- Buffers ------------------------------------------------------------------------------- */

struct buffer {
    struct data_buffer data;
    nrt_tensor_t **input, **output;
    char input_name[PLAN_NAME], output_name[PLAN_NAME];
};

static uint64_t buffer_count(const struct nccom_worker *worker)
{
    const struct plan *plan = worker->team->plan;
    uint64_t count = 0;
    for (size_t i = 0; i < plan->part_count; i++)
        count += plan_buffers(plan, worker->neff, i);
    return count;
}

static struct buffer buffer_at(const struct nccom_worker *worker, uint64_t index)
{
    const struct plan *plan = worker->team->plan;
    uint64_t within = index;
    size_t part = 0;
    while (within >= plan_buffers(plan, worker->neff, part))
        within -= plan_buffers(plan, worker->neff, part++);
    struct buffer buffer = {.data = {.part = &plan->parts[part],
                                     .check = plan->nccom->check,
                                     .seed = plan->nccom->seed,
                                     .number = index,
                                     .workers = plan->nccom->workers},
                            .input = &worker->tensors[2 * index],
                            .output = &worker->tensors[2 * index + 1]};
    plan_buffer_name(plan, false, part, within, buffer.input_name);
    plan_buffer_name(plan, true, part, within, buffer.output_name);
    return buffer;
}

static bool allocate(struct nccom_worker *worker, nrt_tensor_set_t *set, const char *name,
                     uint64_t size, nrt_tensor_t **tensor)
{
    const struct library *library = worker->library;
    return check(worker,
                 library->nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)worker->core, size,
                                              name, tensor),
                 "cannot allocate device memory") &&
           check(worker, library->nrt_add_tensor_to_tensor_set(set, name, *tensor), name);
}

/* Zeros, unless there is something to check. */
static bool write_input(struct nccom_worker *worker, const struct buffer *buffer)
{
    uint64_t size = buffer->data.part->input_bytes;
    uint8_t *data = mem_zeroed(1, size);
    if (buffer->data.check != NCCOM_UNCHECKED)
        data_fill(&buffer->data, worker->rank, data);
    bool ok = check(worker, worker->library->nrt_tensor_write(*buffer->input, data, 0, size),
                    buffer->input_name);
    mem_free(data);
    return ok;
}

static bool make_buffers(struct nccom_worker *worker)
{
    const struct library *library = worker->library;
    uint64_t count = buffer_count(worker);
    worker->tensor_count = 2 * count;
    worker->tensors = mem_zeroed(worker->tensor_count, sizeof *worker->tensors);
    bool ok = check(worker, library->nrt_allocate_tensor_set(&worker->input_set), "inputs") &&
              check(worker, library->nrt_allocate_tensor_set(&worker->output_set), "outputs");
    for (uint64_t i = 0; ok && i < count; i++) {
        struct buffer buffer = buffer_at(worker, i);
        const struct plan_part *part = buffer.data.part;
        ok = allocate(worker, worker->input_set, buffer.input_name, part->input_bytes,
                      buffer.input) &&
             allocate(worker, worker->output_set, buffer.output_name, part->output_bytes,
                      buffer.output) &&
             write_input(worker, &buffer);
    }
    return ok;
}

/* ---- Checking ------------------------------------------------------------------------------ */

static void save(const struct nccom_worker *worker, const char *what, const uint8_t *data,
                 uint64_t size)
{
    const char *log = worker->team->plan->nccom->log;
    size_t stem = strlen(log) - (text_ends(text_of(log), TEXT(".log")) ? 4 : 0);
    char *path = path_format("%.*s_rank_%u_%s.bin", (int)stem, log, worker->rank, what);
    struct output out;
    struct error err;
    if (output_open(&out, path, &err)) {
        output_write(&out, (const char *)data, size);
        output_commit(&out, &err);
    }
    mem_free(path);
}

/* Writes the data sent, received and expected, to help find the cause. */
static void save_tensors(const struct nccom_worker *worker, const struct buffer *buffer,
                         const uint8_t *output)
{
    const struct plan_part *part = buffer->data.part;
    uint8_t *data =
        mem_alloc(part->input_bytes > part->output_bytes ? part->input_bytes : part->output_bytes);
    save(worker, "output", output, part->output_bytes);
    data_fill(&buffer->data, worker->rank, data);
    save(worker, "input", data, part->input_bytes);
    data_golden(&buffer->data, worker->rank, data);
    save(worker, "golden", data, part->output_bytes);
    mem_free(data);
}

static bool check_output(struct nccom_worker *worker, const struct buffer *buffer)
{
    const struct plan_part *part = buffer->data.part;
    uint8_t *data = mem_alloc(part->output_bytes);
    struct data_difference difference;
    bool ok = check(worker,
                    worker->library->nrt_tensor_read(*buffer->output, data, 0, part->output_bytes),
                    buffer->output_name);
    if (ok && !data_check(&buffer->data, worker->rank, data, &difference)) {
        if (buffer->data.check == NCCOM_RANDOM)
            save_tensors(worker, buffer, data);
        ok = error_set(&worker->error,
                       "%s of rank %u is wrong in %" PRIu64 " elements: element %" PRIu64
                       " is %.10g and should be %.10g (%s, seed %" PRIu64 ")",
                       buffer->output_name, worker->rank, difference.count, difference.element,
                       difference.got, difference.expected, nccom_op_name(part->op),
                       buffer->data.seed);
    }
    mem_free(data);
    return ok;
}

static bool check_outputs(struct nccom_worker *worker)
{
    if (worker->team->plan->nccom->check == NCCOM_UNCHECKED)
        return true;
    for (uint64_t i = 0; i < buffer_count(worker); i++) {
        struct buffer buffer = buffer_at(worker, i);
        if (!check_output(worker, &buffer))
            return false;
    }
    return true;
}

/* ---- Times --------------------------------------------------------------------------------- */

/* Where a stream's operation has its time. */
static uint64_t time_index(const struct nccom_worker *worker, uint32_t stream, uint64_t iteration,
                           uint64_t repeat)
{
    const struct team *team = worker->team;
    uint64_t index = 0;
    for (uint32_t i = 0; i < stream; i++)
        index += team->times_of_stream[i];
    return index +
           (worker->measured_before + iteration) * team->plan->nccom->streams[stream].ops_per_iter +
           repeat;
}

static void take_span(struct nccom_worker *worker, const struct span *span)
{
    const struct team *team = worker->team;
    struct plan_place place;
    if (!plan_place(team->plan, worker->neff, span->collective, &place))
        return;
    uint32_t stream = team->plan->parts[place.part].stream;
    size_t size = sizeof worker->report->algorithm[stream];
    snprintf(worker->report->algorithm[stream], size, "%.*s", (int)span->algorithm.size,
             span->algorithm.data);
    if (place.iteration < worker->neff->warmup_iters)
        return;
    uint64_t index =
        time_index(worker, stream, place.iteration - worker->neff->warmup_iters, place.repeat);
    double us = (double)(span->end_ns - span->start_ns) / 1e3;
    if (index < team->time_count && us > worker->times_us[index])
        worker->times_us[index] = us;
}

/* Of the worker's core alone: the others' threads fetch theirs. The parts of an operation begin at
 * once: the longest is the operation's time. */
static bool take_times(struct nccom_worker *worker)
{
    const struct library *library = worker->library;
    char *text;
    size_t size;
    span_list spans;
    nrt_sys_trace_fetch_options_t *options;
    if (!check(worker, library->nrt_sys_trace_fetch_options_allocate(&options), "the trace"))
        return false;
    library->nrt_sys_trace_fetch_options_set_nc_idx(options, worker->core);
    NRT_STATUS status = library->nrt_sys_trace_fetch_events(&text, &size, options);
    library->nrt_sys_trace_fetch_options_free(options);
    if (!check(worker, status, "nrt_sys_trace_fetch_events"))
        return false;
    bool ok = spans_read((struct text){text, size}, &spans, &worker->error);
    bool is_measured = worker->execution >= worker->neff->warmup_executions;
    if (ok && spans.count != plan_neff_size(worker->team->plan, worker->neff))
        ok = error_set(&worker->error,
                       "the runtime's trace has %zu collectives of %" PRIu64 " that were executed",
                       spans.count, plan_neff_size(worker->team->plan, worker->neff));
    for (size_t i = 0; ok && is_measured && i < spans.count; i++)
        take_span(worker, &spans.items[i]);
    if (ok && is_measured)
        worker->measured_before += worker->neff->iters;
    array_free(&spans);
    library->nrt_sys_trace_buffer_free(text);
    return ok;
}

/* ---- Executions ---------------------------------------------------------------------------- */

static bool execute(struct nccom_worker *worker)
{
    uint64_t count = worker->neff->executions + worker->neff->warmup_executions;
    for (worker->execution = 0; worker->execution < count; worker->execution++) {
        char what[64];
        snprintf(what, sizeof what, "execution %" PRIu64 " of rank %u", worker->execution + 1,
                 worker->rank);
        NRT_STATUS status =
            worker->library->nrt_execute(worker->model, worker->input_set, worker->output_set);
        if (!check(worker, status, what) || !take_times(worker))
            return false;
    }
    return check_outputs(worker);
}

static void unload(struct nccom_worker *worker)
{
    const struct library *library = worker->library;
    for (size_t i = 0; i < worker->tensor_count; i++)
        if (worker->tensors[i])
            library->nrt_tensor_free(&worker->tensors[i]);
    if (worker->input_set)
        library->nrt_destroy_tensor_set(&worker->input_set);
    if (worker->output_set)
        library->nrt_destroy_tensor_set(&worker->output_set);
    if (worker->model)
        library->nrt_unload(worker->model);
    mem_free(worker->tensors);
    worker->tensors = NULL;
    worker->tensor_count = 0;
    worker->input_set = worker->output_set = NULL;
    worker->model = NULL;
}

/* All are there before the first begins: groups that are done must not leave before others have
 * found each other. */
static bool meet(struct nccom_worker *worker)
{
    uint32_t workers = worker->team->plan->nccom->workers;
    return workers == 1 || !worker->library->nrt_barrier ||
           check(worker, worker->library->nrt_barrier((int32_t)worker->core, worker->rank, workers),
                 "the workers did not meet");
}

bool worker_run(struct nccom_worker *worker)
{
    const struct team *team = worker->team;
    bool ok = true;
    for (size_t i = 0; ok && i < team->plan->neff_count; i++) {
        worker->neff = &team->plan->neffs[i];
        ok = check(worker,
                   worker->library->nrt_load_collectives(
                       team->neffs[i], team->neff_sizes[i], (int32_t)worker->core, -1, worker->rank,
                       team->plan->nccom->workers, &worker->model),
                   "cannot load the NEFF") &&
             make_buffers(worker) && meet(worker) && execute(worker);
        unload(worker);
    }
    return ok;
}
