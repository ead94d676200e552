/*
 * Batch allocation, and the sink that discards batches.
 */
#include "model/batch.h"

void batch_init(struct batch *batch)
{
    *batch = (struct batch){0};
    batch->start_ps = mem_alloc(BATCH_EVENTS * sizeof *batch->start_ps);
    batch->duration_ps = mem_alloc(BATCH_EVENTS * sizeof *batch->duration_ps);
    batch->type = mem_alloc(BATCH_EVENTS * sizeof *batch->type);
    batch->occurrences = mem_alloc(BATCH_EVENTS * sizeof *batch->occurrences);
    batch->value = mem_alloc(BATCH_EVENTS * sizeof *batch->value);
    batch->arg_end = mem_alloc(BATCH_EVENTS * sizeof *batch->arg_end);
    array_reserve(&batch->args, BATCH_EVENTS);
}

void batch_free(struct batch *batch)
{
    mem_free(batch->start_ps);
    mem_free(batch->duration_ps);
    mem_free(batch->type);
    mem_free(batch->occurrences);
    mem_free(batch->value);
    mem_free(batch->arg_end);
    array_free(&batch->args);
}

void batch_set_occurrences(struct batch *batch, uint32_t event, int64_t occurrences)
{
    if (!batch->has_occurrences)
        for (uint32_t i = 0; i < BATCH_EVENTS; i++)
            batch->occurrences[i] = OCCURRENCES_TIMED;
    batch->has_occurrences = true;
    batch->occurrences[event] = occurrences;
}

static bool discard(struct sink *sink, const struct batch *batch, unsigned worker,
                    struct error *err)
{
    (void)sink, (void)batch, (void)worker, (void)err;
    return true;
}

struct sink sink_discard = {.batch = discard};

bool source_read(struct source *source, struct sink *sink, struct pool *pool, struct error *err)
{
    if (sink->begin && !sink->begin(sink, &source->catalog, pool_workers(pool), err))
        return false;
    return source->read(source, sink, pool, err);
}

void source_close(struct source *source)
{
    if (source)
        source->close(source);
}
