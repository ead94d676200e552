/*
 * The whole run: the workers, each in a process of its own, and the runtime.
 */
#include "neuron/run/runner/runner.h"

#include "base/directory.h"
#include "neuron/program/neff.h"
#include "neuron/run/launch/launch.h"
#include "neuron/run/runner/steps.h"
#include "neuron/run/runner/trace.h"
#include "neuron/run/runner/worker.h"

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

/* The workers of this node, and how many there are in all. */
static bool count_workers(const struct runner_options *options, const struct needs *needs,
                          uint32_t *here, uint32_t *all, struct error *err)
{
    const char *root = getenv("NEURON_RT_ROOT_COMM_ID");
    *all = options->worker_count       ? options->worker_count
           : options->workers_per_node ? options->workers_per_node
                                       : needs->workers;
    *here = options->workers_per_node ? options->workers_per_node : *all;
    if (*here == 0 || *here > *all || options->worker_start > *all - *here)
        return error_set(err, "workers %u to %llu are not among %u", options->worker_start,
                         (unsigned long long)options->worker_start + *here - 1, *all);
    if (*here < *all && (!root || !*root))
        return error_set(err,
                         "%u of %u workers are on other nodes: set NEURON_RT_ROOT_COMM_ID to "
                         "address:port of the node of worker 0, the same on all",
                         *all - *here, *all);
    if (options->input_sets > 1 && options->input_sets < *here)
        return error_set(err, "%zu lines of inputs for %u workers", options->input_sets, *here);
    if (options->profile_rank >= (int64_t)*all)
        return error_set(err, "no worker %lld to profile: workers are 0 to %u",
                         (long long)options->profile_rank, *all - 1);
    return true;
}

static bool run_worker(struct runner_worker *worker)
{
    const struct runner_options *options = worker->options;
    const struct library *library = worker->library;
    bool ok = worker_open(worker) &&
              (!options->trace || trace_begin(library, options, &worker->error)) &&
              steps_run(worker);
    struct error err;
    if (options->trace && worker->info && !trace_end(worker, ok ? &worker->error : &err))
        ok = false;
    worker_close(worker);
    return ok;
}

/* In the process that the worker has for itself. */
static bool run_in_runtime(struct runner_worker *worker)
{
    struct library library;
    if (worker->options->dge_notifications)
        setenv("NEURON_RT_ENABLE_DGE_NOTIFICATIONS", "1", 1);
    if (!library_open(&library, worker->options->library, &worker->error))
        return false;
    worker->library = &library;
    bool ok = library_check(&library, library.nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""),
                            "cannot initialize the runtime", &worker->error);
    if (ok) {
        ok = run_worker(worker);
        library.nrt_close();
    }
    library_close(&library);
    return ok;
}

/* ---- Several workers ----------------------------------------------------------------------- */

struct run {
    const struct runner_options *options;
    const struct file *neff;
    uint32_t worker_count;
};

static void send_line(const char *line)
{
    launch_send(line, strlen(line) + 1);
}

static enum launch_result work(void *context, uint32_t index, struct error *err)
{
    const struct run *run = context;
    struct runner_options options = *run->options;
    options.say = send_line;
    struct runner_worker worker = {.options = &options,
                                   .neff = run->neff,
                                   .index = index,
                                   .rank = options.worker_start + index,
                                   .worker_count = run->worker_count};
    bool ok = run_in_runtime(&worker);
    *err = worker.error;
    return ok ? LAUNCH_DONE : worker.gave_up ? LAUNCH_GAVE_UP : LAUNCH_FAILED;
}

static void receive_line(void *context, uint32_t index, const void *line, size_t size)
{
    const struct run *run = context;
    (void)index, (void)size;
    run->options->say(line);
}

/* A single worker needs no fork: it runs in this process, with its variables set here. */
static bool run_all(const struct runner_options *options, const struct file *neff,
                    struct error *err)
{
    struct run run = {.options = options, .neff = neff};
    struct needs needs;
    uint32_t here;
    if (!read_needs(options, neff, &needs, err) ||
        !count_workers(options, &needs, &here, &run.worker_count, err))
        return false;
    if (run.worker_count == 1) {
        struct runner_worker worker = {.options = options, .neff = neff, .worker_count = 1};
        launch_here(needs.core_version, needs.logical_size);
        bool ok = run_in_runtime(&worker);
        if (!ok)
            *err = worker.error;
        return ok;
    }
    const struct launch_options launch = {.workers = here,
                                          .core_version = needs.core_version,
                                          .logical_size = needs.logical_size,
                                          .is_foreign = options->library,
                                          .work = work,
                                          .receive = receive_line,
                                          .context = &run};
    return launch_run(&launch, err);
}

/* The directory of a file that is going to be written. */
static bool make_parent(const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return true;
    char *directory = mem_copy_text(path, (size_t)(slash - path));
    bool ok = make_directories(directory, err);
    mem_free(directory);
    return ok;
}

bool runner_run(const struct runner_options *options, struct error *err)
{
    struct file neff;
    if (!file_open(&neff, options->neff, err))
        return false;
    bool ok = (neff_recognize(neff.data, neff.size) ||
               error_in_file(err, options->neff, "not a NEFF file")) &&
              make_parent(options->session_file, err) && run_all(options, &neff, err);
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
