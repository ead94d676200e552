/*
 * libkymo-cuda in the life of its process: the driver loads it with the program's first CUDA call
 * (CUDA_INJECTION64_PATH) and calls InitializeInjection.
 */
#include "cuda/activity.h"
#include "cuda/buffers.h"
#include "cuda/cupti.h"
#include "cuda/graphs.h"
#include "cuda/trace_file.h"

#include <kymo/kymo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct cupti cupti;
static bool is_running;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void complain(const char *problem)
{
    char line[512];
    int size = snprintf(line, sizeof line, "kymo: GPUs are not recorded: %s\n", problem);
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)size);
    (void)ignored;
}

/* Before the capture ends, and at exit, while the driver still works. */
static void stop(void)
{
    pthread_mutex_lock(&lock);
    bool was_running = is_running;
    is_running = false;
    pthread_mutex_unlock(&lock);
    if (!was_running)
        return;
    activity_stop(&cupti);
    graphs_stop(&cupti);
    trace_file_lock();
    trace_file_end();
    trace_file_unlock();
}

static enum activity_detail detail(void)
{
    const char *value = getenv("KYMO_GPU_DETAIL");
    return value && strcmp(value, "graph") == 0 ? ACTIVITY_GRAPHS : ACTIVITY_KERNELS;
}

static bool start(char problem[static 256])
{
    if (!cupti_load(&cupti, problem) || !graphs_start(&cupti, problem))
        return false;
    trace_file_lock();
    bool ok = buffers_prepare() && trace_file_begin();
    trace_file_unlock();
    if (!ok)
        snprintf(problem, 256, "there is no memory");
    return ok && activity_start(&cupti, detail(), problem);
}

KYMO_API int InitializeInjection(void);
KYMO_API int InitializeInjection(void)
{
    char problem[256] = "";
    pthread_mutex_lock(&lock);
    if (!is_running && kymo_wants(1)) {
        is_running = start(problem);
        if (!is_running)
            complain(problem);
        else {
            kymo_before_stop(stop);
            atexit(stop);
        }
    }
    pthread_mutex_unlock(&lock);
    return 1;
}
