/*
 * Thread pool: pool_run calls a function for every index below a count, started in ascending order,
 * on all cores, and returns when all calls have. The caller takes part as worker 0. The sequencer
 * puts results made in parallel back in order.
 */
#ifndef KYMO_BASE_POOL_H
#define KYMO_BASE_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;

/* Returning false stops the run: indexes not yet started are skipped. */
typedef bool pool_task(void *context, size_t index, unsigned worker);

/* threads 0: one per core available to this process. */
struct pool *pool_create(unsigned threads);
void pool_destroy(struct pool *pool);
unsigned pool_workers(const struct pool *pool);
/* True when every task returned true. */
bool pool_run(struct pool *pool, size_t count, pool_task *task, void *context);

struct sequencer {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t next;
    bool canceled;
};

void sequencer_init(struct sequencer *sequencer);
void sequencer_destroy(struct sequencer *sequencer);
/* Blocks until every number below ticket has passed; false when the sequencer was canceled. */
bool sequencer_wait(struct sequencer *sequencer, uint64_t ticket);
void sequencer_pass(struct sequencer *sequencer);
void sequencer_cancel(struct sequencer *sequencer);

#endif
