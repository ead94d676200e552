/*
 * Executing: one after the other, or scheduled; with profiles of some.
 */
#include "neuron/run/runner/steps.h"

#include "neuron/run/runner/outputs.h"

#include <stdio.h>
#include <time.h>

static bool check(struct runner_worker *worker, NRT_STATUS status, const char *what)
{
    return library_check(worker->library, status, what, &worker->error);
}

/* ---- Profiles ------------------------------------------------------------------------------ */

static bool is_profiled(const struct runner_worker *worker, uint64_t execution)
{
    const struct runner_options *options = worker->options;
    return !options->trace && options->profile_nth > 0 && execution % options->profile_nth == 0 &&
           (options->profile_rank < 0 || (uint64_t)options->profile_rank == worker->rank);
}

/* 0: not of one execution. */
static char *profile_path(const struct runner_worker *worker, uint64_t execution)
{
    return session_path(worker, worker->options->executions > 1 ? execution : 0);
}

static bool profile_start(struct runner_worker *worker, const char *path)
{
    if (!worker->library->nrt_profile_start || !worker->library->nrt_profile_stop)
        return error_set(&worker->error, "the runtime does not support device profiles");
    return check(worker, worker->library->nrt_profile_start(worker->model, path), path);
}

static bool profile_stop(struct runner_worker *worker, const char *path)
{
    char line[1024];
    if (!check(worker, worker->library->nrt_profile_stop(path), path))
        return false;
    snprintf(line, sizeof line, "profile written to %s", path);
    worker->options->say(line);
    return true;
}

/* ---- Executions ---------------------------------------------------------------------------- */

/* A failed execution: an error, or a line, as the options say. */
static bool judge(struct runner_worker *worker, NRT_STATUS status, uint64_t execution)
{
    char what[96], line[ERROR_LINE_SIZE];
    struct error err;
    if (status == NRT_SUCCESS)
        return true;
    snprintf(what, sizeof what, "execution %llu of worker %u failed", (unsigned long long)execution,
             worker->rank);
    if (!worker->options->ignore_errors) {
        worker->gave_up = status == NRT_EXEC_HW_ERR_COLLECTIVES;
        return check(worker, status, what);
    }
    library_check(worker->library, status, what, &err);
    worker->options->say(error_line(&err, line));
    return true;
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static NRT_STATUS schedule(struct runner_worker *worker, nrta_error_tracker_t *errors,
                           nrta_seq_t *sequence)
{
    NRT_STATUS status;
    while ((status = worker->library->nrta_execute_schedule(worker->model, worker->input_set,
                                                            worker->output_set, 0, errors,
                                                            sequence)) == NRT_QUEUE_FULL)
        pause_briefly();
    return status;
}

static NRT_STATUS wait_for(struct runner_worker *worker, nrta_seq_t sequence)
{
    bool is_done = false;
    NRT_STATUS status;
    while ((status = worker->library->nrta_is_completed(sequence, &is_done)) == NRT_SUCCESS &&
           !is_done)
        pause_briefly();
    return status;
}

/* The status of a scheduled execution, where the runtime tracks errors. */
static NRT_STATUS first_error(struct runner_worker *worker, nrta_error_tracker_t *errors)
{
    const nrta_error_t *list = NULL;
    size_t count = 0;
    if (!errors)
        return NRT_SUCCESS;
    NRT_STATUS status = worker->library->nrta_error_tracker_get_list(errors, &list, &count);
    return status == NRT_SUCCESS && count > 0 ? (NRT_STATUS)list[0].error_code : status;
}

static NRT_STATUS run_one(struct runner_worker *worker, nrta_error_tracker_t *errors)
{
    nrta_seq_t sequence;
    if (worker->options->mode == RUNNER_SYNC)
        return worker->library->nrt_execute(worker->model, worker->input_set, worker->output_set);
    NRT_STATUS status = schedule(worker, errors, &sequence);
    if (status == NRT_SUCCESS)
        status = wait_for(worker, sequence);
    return status == NRT_SUCCESS ? first_error(worker, errors) : status;
}

static bool step(struct runner_worker *worker, uint64_t execution, nrta_error_tracker_t *errors)
{
    bool profiled = is_profiled(worker, execution);
    char *path = profiled ? profile_path(worker, execution) : NULL;
    bool ok = execution == 1 || worker_write_inputs(worker, worker->options->rewrite);
    ok = ok && (!profiled || profile_start(worker, path));
    if (ok) {
        NRT_STATUS status = run_one(worker, errors);
        ok = !profiled || profile_stop(worker, path);
        ok = ok && judge(worker, status, execution) && outputs_take(worker, execution);
    }
    mem_free(path);
    return ok;
}

/* Queues all, then waits: the profile is of all of them, the outputs are the last ones. */
static bool run_queued(struct runner_worker *worker, nrta_error_tracker_t *errors)
{
    uint64_t count = worker->options->executions;
    bool profiled =
        worker->options->profile_nth > 0 && is_profiled(worker, worker->options->profile_nth);
    char *path = profiled ? profile_path(worker, 0) : NULL;
    NRT_STATUS status = NRT_SUCCESS;
    nrta_seq_t sequence = 0;
    bool ok = !profiled || profile_start(worker, path);
    for (uint64_t i = 0; ok && i < count && status == NRT_SUCCESS; i++)
        status = schedule(worker, errors, &sequence);
    if (ok && sequence != 0) {
        NRT_STATUS waited = wait_for(worker, sequence);
        status = status == NRT_SUCCESS ? waited : status;
    }
    if (ok && status == NRT_SUCCESS)
        status = first_error(worker, errors);
    ok = ok && (!profiled || profile_stop(worker, path));
    mem_free(path);
    return ok && judge(worker, status, count) && outputs_take(worker, 1);
}

static bool run_all(struct runner_worker *worker, nrta_error_tracker_t *errors)
{
    if (worker->options->mode == RUNNER_ASYNC)
        return run_queued(worker, errors);
    for (uint64_t i = 1; i <= worker->options->executions; i++)
        if (!step(worker, i, errors))
            return false;
    return true;
}

bool steps_run(struct runner_worker *worker)
{
    const struct library *library = worker->library;
    nrta_error_tracker_t *errors = NULL;
    if (worker->options->mode != RUNNER_SYNC) {
        if (!library->nrta_execute_schedule || !library->nrta_is_completed)
            return error_set(&worker->error, "the runtime does not support asynchronous execution");
        if (library->nrta_error_tracker_create && library->nrta_error_tracker_get_list &&
            library->nrta_error_tracker_create(WORKER_CORE, &errors) != NRT_SUCCESS)
            errors = NULL;
    }
    bool ok = run_all(worker, errors);
    if (errors && library->nrta_error_tracker_destroy)
        library->nrta_error_tracker_destroy(errors);
    return ok;
}
