/*
 * libkymo-cuda in the life of its process: the driver loads it with the program's first CUDA call
 * (CUDA_INJECTION64_PATH) and calls InitializeInjection. It records until the capture or the
 * program ends; a call after the next capture has begun lets it record that too. A program that has
 * used CUDA before loads it itself and calls kymo_cuda_attach.
 */
#include "capture/cuda/activity.h"
#include "capture/cuda/buffers.h"
#include "capture/cuda/counters.h"
#include "capture/cuda/cupti.h"
#include "capture/cuda/graphs.h"
#include "capture/cuda/pm_sampling.h"
#include "capture/cuda/say.h"
#include "capture/cuda/trace_file.h"
#include "capture/cuda/worker.h"
#include "capture/recorder/lock.h"

#include <kymo/kymo.h>
#include <stdio.h>
#include <stdlib.h>

static struct cupti cupti;
static bool is_running, is_attached;
static struct lock lock = LOCK_INITIALIZER;

static void complain(const struct error *err)
{
    say("%s; it is ignored", err->text);
}

static void end_file(void)
{
    trace_file_lock();
    trace_file_end();
    trace_file_unlock();
}

/* Before the capture ends, and at exit, while the driver still works. The second caller waits: the
 * capture must not end before the file is complete. */
static void stop(void)
{
    lock_take(&lock);
    if (is_running) {
        is_running = false;
        pm_sampling_stop(); /* none begins with what is decoded now */
        activity_stop();
        worker_stop();
        counters_stop();
        graphs_stop(&cupti);
        end_file();
    }
    lock_release(&lock);
}

static bool begin_file(const struct gpu_options *options, char problem[static 256])
{
    uint32_t version = 0;
    cupti.GetVersion(&version);
    trace_file_lock();
    bool ok = buffers_prepare(version >= CUPTI_VERSION_12_9) && trace_file_begin(options);
    trace_file_unlock();
    if (!ok)
        snprintf(problem, 256, "out of memory");
    return ok;
}

/* Undoes a failed start. */
static bool give_up(void)
{
    pm_sampling_stop();
    activity_stop();
    worker_stop();
    counters_stop();
    graphs_stop(&cupti);
    end_file();
    return false;
}

static bool start(char problem[static 256])
{
    struct gpu_options options = GPU_OPTIONS;
    gpu_options_from_environment(&options, complain);
    if (!cupti_load(&cupti, problem) || !graphs_start(&cupti, options.nodes, problem))
        return false;
    if (!begin_file(&options, problem)) {
        graphs_stop(&cupti);
        return false;
    }
    counters_start(&options);
    pm_sampling_start(&cupti, &options);
    if (!activity_start(&cupti, &options, is_attached, problem))
        return give_up();
    if (!worker_start(&options)) {
        snprintf(problem, 256, "cannot create a thread");
        return give_up();
    }
    return true;
}

/* ---- Fork ---------------------------------------------------------------------------------- */

/* Neither CUDA nor CUPTI works in a child: it records no GPU, and writes nothing to its parent's
 * files. */
static void before_fork(void)
{
    lock_take(&lock);
    trace_file_lock();
    graphs_lock();
    buffers_lock();
    counters_lock();
    pm_sampling_lock();
}

static void after_fork_in_parent(void)
{
    pm_sampling_unlock();
    counters_unlock();
    buffers_unlock();
    graphs_unlock();
    trace_file_unlock();
    lock_release(&lock);
}

static void after_fork_in_child(void)
{
    pm_sampling_forked();
    counters_forked();
    buffers_forked();
    graphs_unlock();
    trace_file_forked();
    trace_file_unlock();
    worker_forked();
    is_running = false;
    lock_release(&lock);
}

static void watch(void)
{
    kymo_before_stop(stop);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Handlers of exit run in reverse order: ours has to be registered after those that destroy what
 * CUPTI uses, which it registers when it is loaded and while it starts. */
static void stop_before_exit(void)
{
    atexit(stop);
}

static int record(bool attached)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT, started = PTHREAD_ONCE_INIT;
    char problem[256] = "";
    if (!kymo_wants(1))
        return 1;
    undisturbed_once(&watched, watch);
    lock_take(&lock);
    if (!is_running) {
        is_attached = is_attached || attached;
        is_running = start(problem);
        if (is_running)
            undisturbed_once(&started, stop_before_exit);
        else
            say("GPUs are not recorded: %s", problem);
    }
    lock_release(&lock);
    return 1;
}

KYMO_API int InitializeInjection(void);
KYMO_API int InitializeInjection(void)
{
    return record(false);
}

KYMO_API int kymo_cuda_attach(void);
KYMO_API int kymo_cuda_attach(void)
{
    return record(true);
}
