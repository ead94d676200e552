/*
 * Concurrent writes to InfluxDB: sender threads upload chunks that workers have compressed, so
 * workers wait only when the queue is full. Chunks may arrive in any order; InfluxDB sorts by time.
 */
#include "export/influx/influx.h"

enum { SENDERS = 4, QUEUE_CHUNKS = 8 };

struct chunk {
    struct output packed;
    uint64_t points;
};

struct influx_queue {
    struct influx *influx;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct chunk chunks[QUEUE_CHUNKS]; /* ring buffer */
    size_t first, count;
    bool is_ending, has_failed;
    struct error error; /* of the first failure */
    uint64_t written;
    pthread_t threads[SENDERS];
    struct http *connections[SENDERS];
    unsigned started;
    unsigned taken; /* connections handed to a thread */
};

/* Requires the lock. */
static void fail(struct influx_queue *queue, const struct error *err)
{
    if (!queue->has_failed)
        queue->error = *err;
    queue->has_failed = true;
    atomic_store(&queue->influx->is_aborted, true);
}

/* False if the queue is empty and finished. Requires the lock. */
static bool take_chunk(struct influx_queue *queue, struct chunk *chunk)
{
    while (queue->count == 0 && !queue->is_ending && !queue->has_failed)
        pthread_cond_wait(&queue->changed, &queue->lock);
    if (queue->count == 0 || queue->has_failed)
        return false;
    *chunk = queue->chunks[queue->first];
    queue->first = (queue->first + 1) % QUEUE_CHUNKS;
    queue->count--;
    pthread_cond_broadcast(&queue->changed);
    return true;
}

static void *send_chunks(void *argument)
{
    struct influx_queue *queue = argument;
    struct chunk chunk;
    pthread_mutex_lock(&queue->lock);
    struct http *http = queue->connections[queue->taken++];
    while (take_chunk(queue, &chunk)) {
        struct error err;
        pthread_mutex_unlock(&queue->lock);
        bool ok = influx_write(queue->influx, http, chunk.packed.data, chunk.packed.size, &err);
        output_discard(&chunk.packed);
        pthread_mutex_lock(&queue->lock);
        if (ok)
            queue->written += chunk.points;
        else
            fail(queue, &err);
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

static void free_queue(struct influx_queue *queue)
{
    for (; queue->count > 0; queue->count--) {
        output_discard(&queue->chunks[queue->first].packed);
        queue->first = (queue->first + 1) % QUEUE_CHUNKS;
    }
    for (size_t i = 0; i < SENDERS; i++)
        http_destroy(queue->connections[i]);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    mem_free(queue);
}

struct influx_queue *influx_queue_start(struct influx *influx, struct error *err)
{
    struct influx_queue *queue = mem_zeroed(1, sizeof *queue);
    queue->influx = influx;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    bool ok = true;
    for (size_t i = 0; i < SENDERS && ok; i++)
        ok = http_create(&queue->connections[i], err);
    if (ok) {
        while (queue->started < SENDERS &&
               pthread_create(&queue->threads[queue->started], NULL, send_chunks, queue) == 0)
            queue->started++;
        ok = queue->started > 0 || error_set(err, "cannot start a thread for sending");
    }
    if (ok)
        return queue;
    free_queue(queue);
    return NULL;
}

bool influx_queue_push(struct influx_queue *queue, struct output *packed, uint64_t points,
                       struct error *err)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == QUEUE_CHUNKS && !queue->has_failed)
        pthread_cond_wait(&queue->changed, &queue->lock);
    bool ok = !queue->has_failed;
    if (ok) {
        size_t slot = (queue->first + queue->count++) % QUEUE_CHUNKS;
        queue->chunks[slot] = (struct chunk){.packed = *packed, .points = points};
        output_memory(packed);
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return ok || error_set(err, "%s", "");
}

bool influx_queue_end(struct influx_queue *queue, bool is_canceled, uint64_t *written,
                      struct error *err)
{
    pthread_mutex_lock(&queue->lock);
    queue->is_ending = true;
    if (is_canceled && !queue->has_failed)
        fail(queue, err);
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    for (unsigned i = 0; i < queue->started; i++)
        pthread_join(queue->threads[i], NULL);
    bool ok = !queue->has_failed;
    if (!ok)
        *err = queue->error;
    *written = queue->written;
    free_queue(queue);
    return ok;
}
