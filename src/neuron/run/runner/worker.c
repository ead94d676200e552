/*
 * Loading a model and giving it tensors.
 */
#include "neuron/run/runner/worker.h"

#include "neuron/run/runner/arrays.h"

#include <stdio.h>
#include <stdlib.h>

static bool check(struct runner_worker *worker, NRT_STATUS status, const char *what)
{
    return library_check(worker->library, status, what, &worker->error);
}

char *session_path(const struct runner_worker *worker, uint64_t execution)
{
    const char *file = worker->options->session_file, *end = strrchr(file, '.');
    size_t stem = end && !strchr(end, '/') ? (size_t)(end - file) : strlen(file);
    char rank[32] = "", exec[48] = "";
    if (worker->worker_count > 1)
        snprintf(rank, sizeof rank, "_rank_%u", worker->rank);
    if (execution > 0)
        snprintf(exec, sizeof exec, "_exec_%llu", (unsigned long long)execution);
    return path_format("%.*s%s%s%s", (int)stem, file, rank, exec, file + stem);
}

static bool load(struct runner_worker *worker)
{
    const struct library *library = worker->library;
    const struct file *neff = worker->neff;
    bool has_ranks = worker->worker_count > 1;
    NRT_STATUS status =
        has_ranks
            ? library->nrt_load_collectives(neff->data, neff->size, WORKER_CORE, -1, worker->rank,
                                            worker->worker_count, &worker->model)
            : library->nrt_load(neff->data, neff->size, WORKER_CORE, -1, &worker->model);
    worker->gave_up = status == NRT_EXEC_HW_ERR_COLLECTIVES;
    return check(worker, status, worker->options->neff) &&
           check(worker, library->nrt_get_model_tensor_info(worker->model, &worker->info),
                 "nrt_get_model_tensor_info");
}

/* ---- Tensors ------------------------------------------------------------------------------- */

static bool is_shared(const struct runner_worker *worker, const nrt_tensor_info_t *tensor)
{
    return worker->options->single_io && tensor->size > worker->options->single_io_threshold;
}

/* The buffer of --single-io, as large as the largest of them. */
static bool allocate_shared(struct runner_worker *worker)
{
    size_t largest = 0;
    for (uint64_t i = 0; i < worker->info->tensor_count; i++) {
        const nrt_tensor_info_t *tensor = &worker->info->tensor_array[i];
        if (is_shared(worker, tensor) && tensor->size > largest)
            largest = tensor->size;
    }
    return largest == 0 ||
           check(worker,
                 worker->library->nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, WORKER_CORE,
                                                      largest, "single-io", &worker->shared),
                 "cannot allocate the buffer of --single-io");
}

static bool allocate(struct runner_worker *worker, uint64_t index)
{
    const struct library *library = worker->library;
    const nrt_tensor_info_t *tensor = &worker->info->tensor_array[index];
    NRT_STATUS status =
        is_shared(worker, tensor)
            ? library->nrt_tensor_allocate_slice(worker->shared, 0, tensor->size, tensor->name,
                                                 &worker->tensors[index])
            : library->nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, WORKER_CORE, tensor->size,
                                           tensor->name, &worker->tensors[index]);
    bool is_input = tensor->usage == NRT_TENSOR_USAGE_INPUT;
    return check(worker, status, tensor->name) &&
           check(worker,
                 library->nrt_add_tensor_to_tensor_set(is_input ? worker->input_set
                                                                : worker->output_set,
                                                       tensor->name, worker->tensors[index]),
                 tensor->name);
}

static bool allocate_all(struct runner_worker *worker)
{
    const struct library *library = worker->library;
    uint64_t count = worker->info->tensor_count;
    worker->tensors = mem_zeroed(count + 1, sizeof *worker->tensors);
    worker->inputs = mem_zeroed(count + 1, sizeof *worker->inputs);
    worker->checksums = mem_zeroed(count + 1, sizeof *worker->checksums);
    bool ok = check(worker, library->nrt_allocate_tensor_set(&worker->input_set), "inputs") &&
              check(worker, library->nrt_allocate_tensor_set(&worker->output_set), "outputs") &&
              allocate_shared(worker);
    for (uint64_t i = 0; ok && i < count; i++)
        ok = allocate(worker, i);
    return ok;
}

/* ---- Inputs -------------------------------------------------------------------------------- */

static const struct runner_inputs *own_inputs(const struct runner_worker *worker)
{
    const struct runner_options *options = worker->options;
    return options->input_sets == 0                      ? NULL
           : options->input_sets == 1                    ? &options->inputs[0]
           : options->input_sets >= worker->worker_count ? &options->inputs[worker->rank]
                                                         : &options->inputs[worker->index];
}

static bool list_names(const struct runner_worker *worker, const char *wrong, struct error *err)
{
    char names[256] = "";
    for (uint64_t i = 0; i < worker->info->tensor_count; i++) {
        const nrt_tensor_info_t *tensor = &worker->info->tensor_array[i];
        size_t used = strlen(names);
        if (tensor->usage == NRT_TENSOR_USAGE_INPUT)
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", tensor->name);
    }
    return error_set(err, "the model has no input %s; its inputs: %s", wrong,
                     *names ? names : "none");
}

static bool read_input(struct runner_worker *worker, const struct runner_input *input)
{
    for (uint64_t i = 0; i < worker->info->tensor_count; i++) {
        const nrt_tensor_info_t *tensor = &worker->info->tensor_array[i];
        if (tensor->usage != NRT_TENSOR_USAGE_INPUT || strcmp(tensor->name, input->name) != 0)
            continue;
        if (!worker->inputs[i])
            worker->inputs[i] = mem_alloc(tensor->size);
        return array_read(input->path, tensor, worker->inputs[i], &worker->error);
    }
    return list_names(worker, input->name, &worker->error);
}

static bool read_inputs(struct runner_worker *worker)
{
    const struct runner_inputs *inputs = own_inputs(worker);
    for (size_t i = 0; inputs && i < inputs->count; i++)
        if (!read_input(worker, &inputs->items[i]))
            return false;
    return true;
}

static bool is_output(const struct runner_worker *worker, const char *name)
{
    for (uint64_t i = 0; i < worker->info->tensor_count; i++) {
        const nrt_tensor_info_t *tensor = &worker->info->tensor_array[i];
        if (tensor->usage == NRT_TENSOR_USAGE_OUTPUT && strcmp(tensor->name, name) == 0)
            return true;
    }
    return false;
}

static bool write_input(struct runner_worker *worker, uint64_t index)
{
    const nrt_tensor_info_t *tensor = &worker->info->tensor_array[index];
    uint8_t *zeros = worker->inputs[index] ? NULL : mem_zeroed(1, tensor->size);
    const uint8_t *data = zeros ? zeros : worker->inputs[index];
    bool ok = check(
        worker, worker->library->nrt_tensor_write(worker->tensors[index], data, 0, tensor->size),
        tensor->name);
    mem_free(zeros);
    return ok;
}

bool worker_write_inputs(struct runner_worker *worker, enum runner_rewrite which)
{
    for (uint64_t i = 0; i < worker->info->tensor_count && which != REWRITE_NONE; i++) {
        const nrt_tensor_info_t *tensor = &worker->info->tensor_array[i];
        if (tensor->usage == NRT_TENSOR_USAGE_INPUT &&
            (which == REWRITE_ALL || is_output(worker, tensor->name)) && !write_input(worker, i))
            return false;
    }
    return true;
}

bool worker_open(struct runner_worker *worker)
{
    return load(worker) && allocate_all(worker) && read_inputs(worker) &&
           worker_write_inputs(worker, REWRITE_ALL);
}

void worker_close(struct runner_worker *worker)
{
    const struct library *library = worker->library;
    uint64_t count = worker->info ? worker->info->tensor_count : 0;
    for (uint64_t i = 0; worker->tensors && i < count; i++) {
        library->nrt_tensor_free(&worker->tensors[i]);
        mem_free(worker->inputs[i]);
    }
    if (worker->shared)
        library->nrt_tensor_free(&worker->shared);
    if (worker->input_set)
        library->nrt_destroy_tensor_set(&worker->input_set);
    if (worker->output_set)
        library->nrt_destroy_tensor_set(&worker->output_set);
    if (worker->info)
        library->nrt_free_model_tensor_info(worker->info);
    if (worker->model)
        library->nrt_unload(worker->model);
    mem_free((void *)worker->tensors);
    mem_free((void *)worker->inputs);
    mem_free(worker->checksums);
}
