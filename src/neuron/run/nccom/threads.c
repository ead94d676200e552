/*
 * Threads of workers, and what happens when one fails.
 */
#include "neuron/run/nccom/threads.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

enum { GRACE_MS = 2000 }; /* for the others to end after one failed */

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a worker ended */
    uint32_t running;
    bool has_failed, has_cause; /* error is of the one that failed, not of one that gave up */
    struct error error;
};

struct thread {
    pthread_t id;
    struct crew *crew;
    struct nccom_worker *worker;
};

static void note_failure(struct crew *crew, const struct error *err, bool is_cause)
{
    if (!crew->has_failed || (is_cause && !crew->has_cause))
        crew->error = *err;
    crew->has_failed = true;
    crew->has_cause |= is_cause;
}

static void pin(uint32_t rank)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(rank % (uint32_t)(count > 0 ? count : 1), &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *work(void *argument)
{
    const struct thread *thread = argument;
    struct crew *crew = thread->crew;
    struct nccom_worker *worker = thread->worker;
    if (worker->team->plan->nccom->pins_threads)
        pin(worker->rank);
    bool ok = worker_run(worker);
    pthread_mutex_lock(&crew->lock);
    if (!ok)
        note_failure(crew, &worker->error, !worker->gave_up);
    crew->running--;
    pthread_cond_signal(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* With the lock held. False: one has failed, and others are still running after a while. */
static bool wait_for_all(struct crew *crew)
{
    while (crew->running > 0 && !crew->has_failed)
        pthread_cond_wait(&crew->changed, &crew->lock);
    const struct timespec end = clock_after_ms(GRACE_MS);
    while (crew->running > 0)
        if (pthread_cond_clockwait(&crew->changed, &crew->lock, CLOCK_MONOTONIC, &end) == ETIMEDOUT)
            return false;
    return true;
}

/* Those that wait for one that failed get an error from nrt_close, so that all can be joined. */
static void run_all(struct crew *crew, const struct library *library, struct thread *threads,
                    struct nccom_worker *workers, uint32_t count)
{
    uint32_t started = 0;
    pthread_mutex_lock(&crew->lock);
    for (; started < count && !crew->has_failed; started++) {
        struct thread *thread = &threads[started];
        struct error err;
        workers[started].library = library;
        *thread = (struct thread){.crew = crew, .worker = &workers[started]};
        int problem = pthread_create(&thread->id, NULL, work, thread);
        if (problem != 0) {
            error_set(&err, "cannot start worker %u: %s", started, strerror(problem));
            note_failure(crew, &err, true);
            break;
        }
        crew->running++;
    }
    bool is_closed = !wait_for_all(crew);
    pthread_mutex_unlock(&crew->lock);
    if (is_closed)
        library->nrt_close();
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i].id, NULL);
    if (!is_closed)
        library->nrt_close();
}

enum launch_result threads_run(struct nccom_worker *workers, uint32_t count, struct error *err)
{
    static const char *const types[] = {"cc_exec_barrier", "cc_running"};
    struct crew crew = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct library library;
    if (!library_open(&library, workers[0].team->plan->nccom->library, err))
        return LAUNCH_FAILED;
    bool ok = library_check(&library, library.nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""),
                            "cannot initialize the runtime", err);
    if (ok && !runner_start_trace(&library, types, sizeof types / sizeof *types, count, err)) {
        library.nrt_close();
        ok = false;
    }
    if (ok) {
        struct thread *threads = mem_zeroed(count, sizeof *threads);
        run_all(&crew, &library, threads, workers, count);
        mem_free(threads);
        *err = crew.error;
        ok = !crew.has_failed;
    }
    library_close(&library);
    return ok ? LAUNCH_DONE : crew.has_failed && !crew.has_cause ? LAUNCH_GAVE_UP : LAUNCH_FAILED;
}
