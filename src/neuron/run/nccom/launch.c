/*
 * Runs a case: makes its NEFFs, starts the nodes and collects what their workers left.
 */
#include "neuron/run/nccom/threads.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- The machine --------------------------------------------------------------------------- */

/* The machine that the runtime will emulate, from its variables or defaults. */
static bool find_core(struct plan_core *core, uint32_t workers, struct error *err)
{
    const char *name = getenv("KYMO_NEURON_INSTANCE"),
               *logical = getenv("NEURON_LOGICAL_NC_CONFIG");
    name = name && *name ? name : "trn1.32xlarge";
    logical = logical && *logical ? logical : getenv("NEURON_RT_VIRTUAL_CORE_SIZE");
    const struct instance_hardware *instance = hardware_instance(name);
    if (!instance)
        return error_set(err, "KYMO_NEURON_INSTANCE: unknown instance type %s", name);
    core->hardware = instance->core;
    core->logical_size = instance->logical_cores;
    if (logical && *logical)
        core->logical_size = strcmp(logical, "2") == 0 ? 2 : 1;
    uint32_t cores = instance->chips * instance->core->cores_per_chip / core->logical_size;
    return workers <= cores ||
           error_set(err,
                     "%u workers on a node are more than the %u cores of %s: use -r %u, or set %s",
                     workers, cores, name, cores,
                     core->logical_size > 1 ? "NEURON_LOGICAL_NC_CONFIG=1 for twice as many"
                                            : "KYMO_NEURON_INSTANCE to a larger one, such as "
                                              "trn2.48xlarge with 64");
}

/* ---- Nodes --------------------------------------------------------------------------------- */

struct run {
    const struct team *team;
    struct nccom_report *reports; /* of all ranks, in memory shared with the nodes */
    double *times_us;
};

/* Zeroed; seen by this process and those that it starts. */
static void *shared_memory(size_t size, struct error *err)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED)
        return memory;
    error_set(err, "cannot allocate memory to share with the workers: %s", strerror(errno));
    return NULL;
}

static void redirect(const struct nccom_case *nccom)
{
    int log = nccom->debug ? dup(STDERR_FILENO)
                           : open(nccom->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (log < 0)
        return;
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    close(log);
}

/* In the process of a node. */
static enum launch_result work(void *context, uint32_t node, struct error *err)
{
    const struct run *run = context;
    const struct team *team = run->team;
    const struct nccom_case *nccom = team->plan->nccom;
    uint32_t count = nccom->workers / nccom->nodes;
    struct nccom_worker *workers = mem_zeroed(count, sizeof *workers);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = node * count + i;
        workers[i] = (struct nccom_worker){.team = team,
                                           .core = i,
                                           .rank = rank,
                                           .report = &run->reports[rank],
                                           .times_us = run->times_us + rank * team->time_count};
    }
    redirect(nccom);
    if (nccom->debug)
        setenv("NEURON_RT_LOG_LEVEL", "DEBUG", 0);
    enum launch_result result = threads_run(workers, count, err);
    mem_free(workers);
    return result;
}

/* A node is one process, as the vendor's tool has it: its folder of a capture has the NEFF once and
 * the profiles of all cores. Nodes exchange data through TCP. */
static bool run_nodes(struct run *run, struct error *err)
{
    const struct nccom_case *nccom = run->team->plan->nccom;
    assert(run->team->core.hardware);
    const struct launch_options launch = {.workers = nccom->nodes,
                                          .cores_each = nccom->workers / nccom->nodes,
                                          .are_nodes = nccom->nodes > 1,
                                          .core_version = run->team->core.hardware->version,
                                          .logical_size = run->team->core.logical_size,
                                          .is_foreign = nccom->library,
                                          .work = work,
                                          .context = run};
    return launch_run(&launch, err);
}

/* ---- Results ------------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool collect(const struct team *team, const struct nccom_report *reports,
                    const double *times, struct nccom_result *results, struct error *err)
{
    const struct nccom_case *nccom = team->plan->nccom;
    uint64_t first = 0;
    for (size_t i = 0; i < nccom->stream_count; i++) {
        struct nccom_result *result = &results[i];
        uint64_t each = team->times_of_stream[i];
        if (!nccom_shape(&nccom->streams[i], nccom->workers, &result->shape, err))
            return false;
        snprintf(result->algorithm, sizeof result->algorithm, "%s", reports[0].algorithm[i]);
        result->time_count = each * nccom->workers;
        result->times_us = mem_alloc(result->time_count * sizeof *result->times_us);
        for (uint32_t k = 0; k < nccom->workers; k++)
            memcpy(result->times_us + k * each, times + k * team->time_count + first,
                   each * sizeof *times);
        qsort(result->times_us, result->time_count, sizeof *result->times_us, compare_times);
        first += each;
    }
    return true;
}

void nccom_result_free(struct nccom_result *result)
{
    mem_free(result->times_us);
    *result = (struct nccom_result){0};
}

/* ---- All of it ----------------------------------------------------------------------------- */

static bool make_team(struct team *team, struct error *err)
{
    const struct plan *plan = team->plan;
    const struct nccom_case *nccom = plan->nccom;
    uint64_t iterations = 0;
    if (!find_core(&team->core, nccom->workers / nccom->nodes, err))
        return false;
    for (size_t i = 0; i < plan->neff_count; i++) {
        iterations += plan->neffs[i].iters * plan->neffs[i].executions;
        if (!plan_encode(plan, &plan->neffs[i], &team->core, &team->neffs[i], &team->neff_sizes[i],
                         err))
            return false;
    }
    for (size_t i = 0; i < nccom->stream_count; i++) {
        team->times_of_stream[i] = iterations * nccom->streams[i].ops_per_iter;
        team->time_count += team->times_of_stream[i];
    }
    return true;
}

static bool run_plan(const struct plan *plan, struct nccom_result *results, struct error *err)
{
    const struct nccom_case *nccom = plan->nccom;
    struct team team = {.plan = plan};
    bool ok = make_team(&team, err);
    size_t report_size = nccom->workers * sizeof(struct nccom_report);
    size_t time_size = nccom->workers * team.time_count * sizeof(double) + 1;
    struct nccom_report *reports = ok ? shared_memory(report_size, err) : NULL;
    double *times = reports ? shared_memory(time_size, err) : NULL;
    struct run run = {&team, reports, times};
    ok = times && run_nodes(&run, err) && collect(&team, reports, times, results, err);
    if (reports)
        munmap(reports, report_size);
    if (times)
        munmap(times, time_size);
    for (size_t i = 0; i < NEFFS; i++)
        mem_free(team.neffs[i]);
    return ok;
}

bool nccom_run(const struct nccom_case *nccom, struct nccom_result *results, struct error *err)
{
    struct plan plan;
    if (!plan_make(&plan, nccom, err))
        return false;
    bool ok = run_plan(&plan, results, err);
    plan_free(&plan);
    return ok;
}
