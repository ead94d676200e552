/*
 * Thread pool: workers sleep between runs; during a run they take indexes from a shared counter.
 */
#include "base/pool.h"

#include "base/memory.h"

#include <sched.h>
#include <stdatomic.h>

struct worker {
    struct pool *pool;
    unsigned number;
    pthread_t thread;
};

struct pool {
    unsigned workers;
    struct worker *threads; /* workers 1 and up; worker 0 is the caller of pool_run */
    unsigned started;
    pthread_mutex_t lock;
    pthread_cond_t begin, finished;
    uint64_t run; /* run counter, so that a sleeping worker recognizes a new run */
    unsigned busy;
    bool closing;

    pool_task *task;
    void *context;
    size_t count;
    atomic_size_t next;
    atomic_bool stopped;
};

static void work(struct pool *pool, unsigned number)
{
    while (!atomic_load_explicit(&pool->stopped, memory_order_relaxed)) {
        size_t index = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (index >= pool->count)
            return;
        if (!pool->task(pool->context, index, number))
            atomic_store(&pool->stopped, true);
    }
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct pool *pool = worker->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->run == seen && !pool->closing)
            pthread_cond_wait(&pool->begin, &pool->lock);
        if (pool->closing)
            break;
        seen = pool->run;
        pthread_mutex_unlock(&pool->lock);
        work(pool, worker->number);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->finished);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static unsigned usable_cores(void)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        return 1;
    int count = CPU_COUNT(&cores);
    return count > 0 ? (unsigned)count : 1;
}

struct pool *pool_create(unsigned threads)
{
    struct pool *pool = mem_zeroed(1, sizeof *pool);
    unsigned wanted = threads ? threads : usable_cores();
    pool->threads = mem_zeroed(wanted, sizeof *pool->threads);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->begin, NULL);
    pthread_cond_init(&pool->finished, NULL);
    for (unsigned i = 1; i < wanted; i++) {
        struct worker *worker = &pool->threads[pool->started];
        *worker = (struct worker){.pool = pool, .number = pool->started + 1};
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0)
            break; /* fewer threads do the same work, only slower */
        pool->started++;
    }
    pool->workers = pool->started + 1;
    return pool;
}

void pool_destroy(struct pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->threads[i].thread, NULL);
    pthread_cond_destroy(&pool->begin);
    pthread_cond_destroy(&pool->finished);
    pthread_mutex_destroy(&pool->lock);
    mem_free(pool->threads);
    mem_free(pool);
}

unsigned pool_workers(const struct pool *pool)
{
    return pool->workers;
}

bool pool_run(struct pool *pool, size_t count, pool_task *task, void *context)
{
    pool->task = task;
    pool->context = context;
    pool->count = count;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->stopped, false);
    bool shared = count > 1 && pool->started > 0;
    if (shared) {
        pthread_mutex_lock(&pool->lock);
        pool->busy = pool->started;
        pool->run++;
        pthread_cond_broadcast(&pool->begin);
        pthread_mutex_unlock(&pool->lock);
    }
    work(pool, 0);
    if (shared) {
        pthread_mutex_lock(&pool->lock);
        while (pool->busy > 0)
            pthread_cond_wait(&pool->finished, &pool->lock);
        pthread_mutex_unlock(&pool->lock);
    }
    return !atomic_load(&pool->stopped);
}

void sequencer_init(struct sequencer *sequencer)
{
    *sequencer = (struct sequencer){0};
    pthread_mutex_init(&sequencer->lock, NULL);
    pthread_cond_init(&sequencer->moved, NULL);
}

void sequencer_destroy(struct sequencer *sequencer)
{
    pthread_cond_destroy(&sequencer->moved);
    pthread_mutex_destroy(&sequencer->lock);
}

bool sequencer_wait(struct sequencer *sequencer, uint64_t ticket)
{
    pthread_mutex_lock(&sequencer->lock);
    while (sequencer->next < ticket && !sequencer->canceled)
        pthread_cond_wait(&sequencer->moved, &sequencer->lock);
    bool passed = !sequencer->canceled;
    pthread_mutex_unlock(&sequencer->lock);
    return passed;
}

static void move(struct sequencer *sequencer, uint64_t steps, bool cancel)
{
    pthread_mutex_lock(&sequencer->lock);
    sequencer->next += steps;
    sequencer->canceled |= cancel;
    pthread_cond_broadcast(&sequencer->moved);
    pthread_mutex_unlock(&sequencer->lock);
}

void sequencer_pass(struct sequencer *sequencer)
{
    move(sequencer, 1, false);
}

void sequencer_cancel(struct sequencer *sequencer)
{
    move(sequencer, 0, true);
}
