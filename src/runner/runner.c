/*
 * The whole run: the runtime, the workers, the trace.
 */
#include "runner/runner.h"

#include "neff/neff.h"
#include "runner/steps.h"
#include "runner/trace.h"
#include "runner/worker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* What the NEFF says about the machine it needs. */
struct needs {
    uint32_t workers, core_version, logical_size;
};

static bool read_needs(const struct runner_options *options, const struct file *file,
                       struct needs *needs, struct error *err)
{
    if (!neff_check_hash(file->data, file->size, options->neff, err))
        return false;
    struct neff *neff = neff_parse(file->data, file->size, options->neff, err);
    if (!neff)
        return false;
    const struct neff_info *info = neff_info(neff);
    *needs =
        (struct needs){.workers = info->worker_count,
                       .core_version = info->program_count ? info->programs[0].core_version : 0,
                       .logical_size = info->program_count};
    neff_close(neff);
    return true;
}

/* The ranks of this process, and how many there are in all. */
static bool count_workers(const struct runner_options *options, const struct needs *needs,
                          uint32_t *here, uint32_t *all, struct error *err)
{
    *all = options->worker_count       ? options->worker_count
           : options->workers_per_node ? options->workers_per_node
                                       : needs->workers;
    *here = options->workers_per_node ? options->workers_per_node : *all;
    if (options->worker_start + *here > *all || *here == 0)
        return error_set(err, "workers %u to %u are not among %u", options->worker_start,
                         options->worker_start + *here - 1, *all);
    if (*here < *all)
        return error_set(err, "%u of %u workers are on other nodes: all must be on this one",
                         *all - *here, *all);
    if (options->input_sets > 1 && options->input_sets < *here)
        return error_set(err, "%zu lines of inputs for %u workers", options->input_sets, *here);
    if (options->profile_rank >= (int64_t)*all)
        return error_set(err, "there is no worker %lld to profile: they are 0 to %u",
                         (long long)options->profile_rank, *all - 1);
    return true;
}

/* What the user did not choose: as many cores as there are workers, of the kind that the NEFF was
 * compiled for. Runtimes of real devices do not look at the instance. */
static void set_variables(const struct runner_options *options, const struct needs *needs,
                          uint32_t workers)
{
    static const char *const instances[] = {[3] = "trn2.48xlarge", [4] = "trn3.48xlarge"};
    static const char instance[] = "KYMO_NEURON_INSTANCE";
    char number[16];
    if (!getenv(instance) && needs->core_version < sizeof instances / sizeof *instances &&
        instances[needs->core_version])
        setenv(instance, instances[needs->core_version], 1);
    snprintf(number, sizeof number, "%u", needs->logical_size);
    if (needs->logical_size > 0 && !getenv("NEURON_LOGICAL_NC_CONFIG") &&
        !getenv("NEURON_RT_VIRTUAL_CORE_SIZE"))
        setenv("NEURON_LOGICAL_NC_CONFIG", number, 1);
    snprintf(number, sizeof number, "%u", workers);
    if (!getenv("NEURON_RT_VISIBLE_CORES") && !getenv("NEURON_RT_NUM_CORES"))
        setenv("NEURON_RT_NUM_CORES", number, 1);
    if (options->dge_notifications)
        setenv("NEURON_RT_ENABLE_DGE_NOTIFICATIONS", "1", 1);
}

/* When one fails, the others would wait for it: closing the runtime ends them. */
static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    worker->has_failed = !steps_run(worker);
    if (worker->has_failed && atomic_fetch_add(worker->failures, 1) == 0) {
        worker->is_first_failure = true;
        if (worker->worker_count > 1)
            worker->library->nrt_close();
    }
    return NULL;
}

/* All at once; the last in this thread. */
static void run_workers(struct worker *workers, uint32_t count)
{
    pthread_t *threads = mem_zeroed(count, sizeof *threads);
    uint32_t started = 0;
    while (started + 1 < count &&
           pthread_create(&threads[started], NULL, worker_main, &workers[started]) == 0)
        started++;
    for (uint32_t i = started; i < count; i++)
        worker_main(&workers[i]);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    mem_free(threads);
}

static bool run_all(struct worker *workers, uint32_t count, struct error *err)
{
    const struct runner_options *options = workers[0].options;
    const struct library *library = workers[0].library;
    for (uint32_t i = 0; i < count; i++)
        if (!worker_open(&workers[i])) {
            *err = workers[i].error;
            return false;
        }
    if (options->trace && !trace_begin(library, options, err))
        return false;
    run_workers(workers, count);
    bool ok = !options->trace || trace_end(library, options, err);
    for (uint32_t i = 0; i < count; i++)
        if (workers[i].is_first_failure) {
            *err = workers[i].error;
            ok = false;
        }
    return ok;
}

static bool run_in_runtime(const struct runner_options *options, const struct library *library,
                           const struct file *neff, struct error *err)
{
    uint32_t here, all;
    struct needs needs;
    if (!read_needs(options, neff, &needs, err) ||
        !count_workers(options, &needs, &here, &all, err))
        return false;
    set_variables(options, &needs, here);
    if (!library_check(library, library->nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""),
                       "cannot initialise the runtime", err))
        return false;
    struct worker *workers = mem_zeroed(here, sizeof *workers);
    atomic_uint failures = 0;
    for (uint32_t i = 0; i < here; i++)
        workers[i] = (struct worker){.options = options,
                                     .library = library,
                                     .neff = neff,
                                     .index = i,
                                     .rank = options->worker_start + i,
                                     .worker_count = all,
                                     .failures = &failures};
    bool ok = run_all(workers, here, err);
    for (uint32_t i = 0; i < here; i++)
        worker_close(&workers[i]);
    mem_free(workers);
    library->nrt_close();
    return ok;
}

bool runner_run(const struct runner_options *options, struct error *err)
{
    struct library library;
    struct file neff;
    if (!file_open(&neff, options->neff, err))
        return false;
    bool ok = neff_recognise(neff.data, neff.size) ||
              error_in_file(err, options->neff, "not a NEFF file");
    if (ok && library_open(&library, options->library, err)) {
        ok = run_in_runtime(options, &library, &neff, err);
        library_close(&library);
    } else {
        ok = false;
    }
    file_close(&neff);
    return ok;
}

bool runner_event_types(const char *path, const char ***types, size_t *count, struct error *err)
{
    struct library library;
    if (!library_open(&library, path, err))
        return false;
    bool ok = trace_types(&library, types, count, err);
    library_close(&library);
    return ok;
}
