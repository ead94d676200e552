/*
 * Reads the parts of a source in parallel: groups of parts are the tasks of a pool.
 */
#include "model/parts.h"

#include <stdatomic.h>

struct reading {
    struct source *source;
    size_t count, together;
    const size_t *ends; /* of groups; NULL: each has `together` parts */
    part_reader *read;
    void *context;
    struct sink *sink;
    pthread_mutex_t lock; /* guards the first error */
    size_t failed_part;
    struct error *err;
};

static void fail(struct reading *reading, size_t part, const struct error *err)
{
    pthread_mutex_lock(&reading->lock);
    if (err->text[0] && part < reading->failed_part) { /* no text: it was only canceled */
        reading->failed_part = part;
        *reading->err = *err;
    }
    pthread_mutex_unlock(&reading->lock);
    if (reading->sink->cancel)
        reading->sink->cancel(reading->sink);
}

static bool read_group(void *context, size_t group, unsigned worker)
{
    struct reading *reading = context;
    size_t first = group * reading->together, left = reading->count - first;
    size_t end = first + (left < reading->together ? left : reading->together);
    if (reading->ends) {
        first = group > 0 ? reading->ends[group - 1] : 0;
        end = reading->ends[group];
    }
    for (size_t i = first; i < end; i++) {
        struct part part = {.number = i,
                            .sequence = group,
                            .is_last = i + 1 == end,
                            .worker = worker,
                            .sink = reading->sink};
        struct error err;
        if (!reading->read(reading->context, &part, &err)) {
            fail(reading, i, &err);
            return false;
        }
        atomic_fetch_add_explicit(&reading->source->parts_done, 1, memory_order_relaxed);
    }
    return true;
}

static bool run(struct reading *reading, size_t groups, struct pool *pool)
{
    atomic_store(&reading->source->parts, reading->count);
    atomic_store(&reading->source->parts_done, 0);
    reading->failed_part = SIZE_MAX;
    pthread_mutex_init(&reading->lock, NULL);
    bool ok = pool_run(pool, groups, read_group, reading);
    pthread_mutex_destroy(&reading->lock);
    return ok;
}

bool parts_read(struct source *source, size_t count, part_reader *read, void *context,
                struct sink *sink, struct pool *pool, struct error *err)
{
    size_t together = sink->together ? sink->together : 1;
    struct reading reading = {.source = source,
                              .count = count,
                              .together = together,
                              .read = read,
                              .context = context,
                              .sink = sink,
                              .err = err};
    return run(&reading, (count + together - 1) / together, pool);
}

bool parts_read_groups(struct source *source, const size_t *ends, size_t groups, part_reader *read,
                       void *context, struct sink *sink, struct pool *pool, struct error *err)
{
    struct reading reading = {.source = source,
                              .count = groups > 0 ? ends[groups - 1] : 0,
                              .ends = ends,
                              .read = read,
                              .context = context,
                              .sink = sink,
                              .err = err};
    return run(&reading, groups, pool);
}
