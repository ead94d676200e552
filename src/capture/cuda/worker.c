/*
 * It wakes for each buffer and twice a second, when finished work is handed over and written: a
 * killed program loses half a second at most.
 */
#include "capture/cuda/worker.h"

#include "base/clock.h"
#include "capture/cuda/activity.h"
#include "capture/cuda/buffers.h"
#include "capture/cuda/graphs.h"
#include "capture/cuda/trace_file.h"
#include "capture/recorder/lock.h"

#include <stdatomic.h>
#include <time.h>

#define FLUSH_NS 500000000

static struct {
    pthread_t thread;
    bool is_there;
    atomic_bool stopping;
    bool is_sampled, is_open;
    int64_t window_ns, period_ns;
    int64_t opened_ns; /* the last window */
} worker;

/* ---- Windows ------------------------------------------------------------------------------- */

static int64_t next_turn(void)
{
    if (!worker.is_sampled)
        return INT64_MAX;
    return worker.opened_ns + (worker.is_open ? worker.window_ns : worker.period_ns);
}

static void open_window(void)
{
    activity_enable(true);
    worker.opened_ns = clock_monotonic_ns();
    worker.is_open = true;
}

static void close_window(void)
{
    int64_t end_ns = clock_monotonic_ns();
    activity_enable(false);
    worker.is_open = false;
    trace_file_lock();
    trace_row(TRACE_WINDOWS, (const uint64_t[]){(uint64_t)worker.opened_ns,
                                                (uint64_t)(end_ns - worker.opened_ns)});
    trace_file_unlock();
}

/* ---- The thread ---------------------------------------------------------------------------- */

static void write_all(void)
{
    trace_file_lock();
    graphs_drain();
    trace_file_flush();
    trace_file_unlock();
}

/* After a request to stop it goes on until the queue is empty, so that everything that was handed
 * over is decoded; nothing new is begun then. */
static void *work(void *unused)
{
    (void)unused;
    int64_t flush_ns = clock_monotonic_ns() + FLUSH_NS;
    struct filled filled;
    for (;;) {
        bool stopping = atomic_load(&worker.stopping); /* before the queue is seen empty */
        int64_t turn_ns = next_turn();
        if (buffers_wait(&filled, turn_ns < flush_ns ? turn_ns : flush_ns))
            activity_decode(&filled);
        else if (stopping)
            break;
        if (stopping)
            continue;
        if (clock_monotonic_ns() >= turn_ns)
            worker.is_open ? close_window() : open_window();
        if (clock_monotonic_ns() >= flush_ns) {
            activity_flush(false);
            write_all();
            flush_ns = clock_monotonic_ns() + FLUSH_NS;
        }
    }
    if (worker.is_sampled && worker.is_open)
        close_window();
    write_all();
    return NULL;
}

bool worker_start(const struct gpu_options *options)
{
    struct undisturbed before;
    worker.is_sampled = worker.is_open = options->detail == GPU_SAMPLED;
    worker.window_ns = (int64_t)options->window_ns;
    worker.period_ns = (int64_t)options->period_ns;
    worker.opened_ns = clock_monotonic_ns();
    atomic_store(&worker.stopping, false);
    undisturbed_begin(&before); /* signals go to the program's threads */
    worker.is_there = pthread_create(&worker.thread, NULL, work, NULL) == 0;
    undisturbed_end(&before);
    if (worker.is_there)
        pthread_setname_np(worker.thread, "kymo-gpu");
    return worker.is_there;
}

void worker_stop(void)
{
    if (!worker.is_there)
        return;
    atomic_store(&worker.stopping, true);
    buffers_wake();
    pthread_join(worker.thread, NULL);
    worker.is_there = false;
}

void worker_forked(void)
{
    worker.is_there = false;
}
