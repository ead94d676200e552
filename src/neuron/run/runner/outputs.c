/*
 * Outputs: files named after them, and checksums.
 */
#include "neuron/run/runner/outputs.h"

#include "neuron/run/runner/arrays.h"

#include <stdio.h>

static bool save(struct runner_worker *worker, const nrt_tensor_info_t *tensor, const uint8_t *data,
                 uint64_t execution, bool is_npy)
{
    char rank[32] = "", suffix[32] = "", line[1024];
    if (worker->worker_count > 1)
        snprintf(rank, sizeof rank, "_rank_%u", worker->rank);
    if (execution > 1)
        snprintf(suffix, sizeof suffix, ".%llu", (unsigned long long)execution);
    char *path = path_format("%s%s%s%s", tensor->name, rank, is_npy ? ".npy" : "", suffix);
    for (char *c = path; *c; c++)
        if (*c == '/')
            *c = '_'; /* names are not paths */
    bool ok = array_write(path, tensor, data, is_npy, &worker->error);
    if (ok) {
        snprintf(line, sizeof line, "saved output \"%s\" as \"%s\"", tensor->name, path);
        worker->options->say(line);
    }
    mem_free(path);
    return ok;
}

static bool compare(struct runner_worker *worker, uint64_t index, const uint8_t *data,
                    uint64_t execution)
{
    const nrt_tensor_info_t *tensor = &worker->info->tensor_array[index];
    uint32_t crc = crc32_of(0, data, tensor->size);
    if (execution == 1)
        worker->checksums[index] = crc;
    return crc == worker->checksums[index] ||
           error_set(&worker->error,
                     "output %s of execution %llu differs from the first: CRC32 %08x, not %08x",
                     tensor->name, (unsigned long long)execution, crc, worker->checksums[index]);
}

static bool take(struct runner_worker *worker, uint64_t index, uint64_t execution, bool saves)
{
    const struct runner_options *options = worker->options;
    const nrt_tensor_info_t *tensor = &worker->info->tensor_array[index];
    uint8_t *data = mem_alloc(tensor->size);
    bool ok = library_check(
        worker->library,
        worker->library->nrt_tensor_read(worker->tensors[index], data, 0, tensor->size),
        tensor->name, &worker->error);
    if (ok && options->check_determinism)
        ok = compare(worker, index, data, execution);
    if (ok && saves && options->save_raw)
        ok = save(worker, tensor, data, execution, false);
    if (ok && saves && options->save_npy)
        ok = save(worker, tensor, data, execution, true);
    mem_free(data);
    return ok;
}

bool outputs_take(struct runner_worker *worker, uint64_t execution)
{
    const struct runner_options *options = worker->options;
    bool saves = (options->save_raw || options->save_npy) &&
                 (options->save_nth == 0 || execution % options->save_nth == 0);
    if (!saves && !options->check_determinism)
        return true;
    for (uint64_t i = 0; i < worker->info->tensor_count; i++)
        if (worker->info->tensor_array[i].usage == NRT_TENSOR_USAGE_OUTPUT &&
            !take(worker, i, execution, saves))
            return false;
    return true;
}
