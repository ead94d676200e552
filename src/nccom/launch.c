/*
 * Runs a case: makes its NEFFs, starts the workers, waits for them and collects what they left.
 */
#include "nccom/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The machine --------------------------------------------------------------------------- */

/* What the runtime will have: as its variables say, or its defaults. */
static bool find_core(struct plan_core *core, uint32_t workers, struct error *err)
{
    const char *name = getenv("KYMO_NEURON_INSTANCE"),
               *logical = getenv("NEURON_LOGICAL_NC_CONFIG");
    name = name && *name ? name : "trn1.32xlarge";
    logical = logical ? logical : getenv("NEURON_RT_VIRTUAL_CORE_SIZE");
    const struct instance_hardware *instance = hardware_instance(name);
    if (!instance)
        return error_set(err, "KYMO_NEURON_INSTANCE: there is no instance type %s", name);
    core->hardware = instance->core;
    core->logical_size = instance->logical_cores;
    if (logical && *logical)
        core->logical_size = strcmp(logical, "2") == 0 ? 2 : 1;
    uint32_t cores = instance->chips * instance->core->cores_per_chip / core->logical_size;
    return workers <= cores ||
           error_set(err, "%u workers on a node are more than the %u cores of %s%s", workers, cores,
                     name,
                     core->logical_size > 1 ? " (NEURON_LOGICAL_NC_CONFIG=1: twice as many)" : "");
}

/* ---- A worker's process -------------------------------------------------------------------- */

struct process {
    const struct team *team;
    struct report *reports; /* of all ranks */
    double *times_us;
    uint32_t first_rank, rank_count;
};

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    if (!worker_run(worker)) {
        error_line(&worker->error, worker->report->error);
        worker->report->has_failed = true;
        worker->library->nrt_close(); /* others would wait for it */
    }
    worker->report->is_done = true;
    return NULL;
}

static void pin(uint32_t rank)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(rank % (uint32_t)(count > 0 ? count : 1), &set);
    sched_setaffinity(0, sizeof set, &set);
}

static bool open_runtime(const struct process *process, struct library *library, struct error *err)
{
    static const char *const types[] = {"cc_exec_barrier", "cc_running"};
    char number[16];
    snprintf(number, sizeof number, "%u", process->rank_count);
    if (!getenv("NEURON_RT_VISIBLE_CORES") && !getenv("NEURON_RT_NUM_CORES"))
        setenv("NEURON_RT_NUM_CORES", number, 1);
    return library_open(library, process->team->plan->nccom->library, err) &&
           library_check(library, library->nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""),
                         "cannot initialise the runtime", err) &&
           runner_start_trace(library, types, sizeof types / sizeof *types, 0, err);
}

static bool run_process(const struct process *process)
{
    struct library library;
    struct error err;
    if (!open_runtime(process, &library, &err)) {
        struct report *report = &process->reports[process->first_rank];
        error_line(&err, report->error);
        report->has_failed = true;
        return false;
    }
    struct worker *workers = mem_zeroed(process->rank_count, sizeof *workers);
    pthread_t *threads = mem_zeroed(process->rank_count, sizeof *threads);
    bool ok = true;
    for (uint32_t i = 0; i < process->rank_count; i++) {
        uint32_t rank = process->first_rank + i;
        workers[i] = (struct worker){
            .team = process->team,
            .library = &library,
            .rank = rank,
            .core = i,
            .report = &process->reports[rank],
            .times_us = process->times_us + rank * process->team->time_count,
        };
        ok &= pthread_create(&threads[i], NULL, run_worker, &workers[i]) == 0;
    }
    for (uint32_t i = 0; i < process->rank_count; i++) {
        pthread_join(threads[i], NULL);
        ok &= !workers[i].report->has_failed;
    }
    library.nrt_close();
    library_close(&library);
    mem_free(threads);
    mem_free(workers);
    return ok;
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

static pid_t start_process(const struct process *process)
{
    const struct nccom_case *nccom = process->team->plan->nccom;
    fflush(NULL);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    redirect(nccom);
    if (nccom->debug)
        setenv("NEURON_RT_LOG_LEVEL", "DEBUG", 0);
    if (nccom->pins_threads)
        pin(process->first_rank);
    exit(run_process(process) ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* ---- The team ------------------------------------------------------------------------------ */

static void *shared_memory(size_t size, struct error *err)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED)
        return memory;
    error_set(err, "cannot get memory to share with the workers: %s", strerror(errno));
    return NULL;
}

/* Waits for one; notes how it ended if it did not say so itself. */
static void wait_for(pid_t pid, struct report *report, uint32_t rank)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (report->is_done || report->has_failed)
        return;
    report->has_failed = true;
    if (WIFSIGNALED(status))
        snprintf(report->error, sizeof report->error, "rank %u was killed by signal %d (%s)", rank,
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(report->error, sizeof report->error, "rank %u ended with exit code %d", rank,
                 WEXITSTATUS(status));
}

static bool run_team(const struct team *team, struct report *reports, double *times,
                     struct error *err)
{
    uint32_t workers = team->plan->nccom->workers;
    const struct process process = {team, reports, times, 0, workers};
    pid_t pid = start_process(&process);
    if (pid < 0)
        return error_set(err, "cannot start a worker: %s", strerror(errno));
    wait_for(pid, &reports[0], 0);
    for (uint32_t i = 0; i < workers; i++)
        if (reports[i].has_failed)
            return error_set(err, "%.480s", reports[i].error);
    return true;
}

/* ---- Results ------------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool collect(const struct team *team, const struct report *reports, const double *times,
                    struct nccom_result *results, struct error *err)
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
    struct team team = {.plan = plan};
    uint32_t workers = plan->nccom->workers;
    bool ok = make_team(&team, err);
    size_t report_size = workers * sizeof(struct report);
    size_t time_size = workers * team.time_count * sizeof(double) + 1;
    struct report *reports = ok ? shared_memory(report_size, err) : NULL;
    double *times = reports ? shared_memory(time_size, err) : NULL;
    ok = times && run_team(&team, reports, times, err) &&
         collect(&team, reports, times, results, err);
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
