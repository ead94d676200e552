/*
 * Batches, sinks and sources: how events move from readers to consumers. A batch is a columnar
 * block of events of one track; it belongs to the worker that pushes it and is reused afterward, so
 * a sink copies what it keeps.
 */
#ifndef KYMO_MODEL_BATCH_H
#define KYMO_MODEL_BATCH_H

#include "model/catalog.h"

enum { BATCH_EVENTS = 8192 };

struct batch {
    uint32_t track;
    uint32_t count;    /* may be 0 in the last batch of a sequence number */
    uint64_t first;    /* index of its first event within the track */
    uint64_t sequence; /* batches with the same number come from one worker; numbers start at 0,
                          without gaps */
    bool last;         /* of its sequence number */

    int64_t *start_ps, *duration_ps;
    uint32_t *type;
    uint32_t *arg_end; /* args of event i: from arg_end[i - 1] (0 for the first) to arg_end[i] */
    arg_buffer args;

    bool has_occurrences; /* some events aggregate many occurrences and have no time */
    int64_t *occurrences; /* how many; OCCURRENCES_TIMED for an ordinary event */
    bool has_values;      /* counter lanes */
    double *value;
};

#define OCCURRENCES_TIMED (-1)

void batch_init(struct batch *batch);
void batch_free(struct batch *batch);

/* Sets the number of occurrences that an event of the batch aggregates. */
void batch_set_occurrences(struct batch *batch, uint32_t event, int64_t occurrences);

static inline struct arg_list batch_args(const struct batch *batch, uint32_t event)
{
    uint32_t from = event ? batch->arg_end[event - 1] : 0;
    return (struct arg_list){batch->args.items + from, batch->arg_end[event] - from};
}

/*
 * A sink receives batches from several threads concurrently, those of one track in any order:
 * `first` gives their position. `begin` is called before the first batch. After any failure
 * `cancel` is called, to wake callbacks that wait for other batches; a batch that fails only
 * because of that leaves err's text empty. All but `batch` may be NULL.
 */
struct sink {
    bool (*begin)(struct sink *sink, const struct catalog *catalog, unsigned workers,
                  struct error *err);
    bool (*batch)(struct sink *sink, const struct batch *batch, unsigned worker, struct error *err);
    void (*cancel)(struct sink *sink);
    const uint8_t
        *wanted; /* by key, valid from `begin` on: a source need not push args whose byte is 0, nor
                    parse more of them than needed to validate them; NULL: all */
    unsigned together; /* adjacent parts of the source that one worker reads in order under one
                          sequence number; 0 is the same as 1 */
};

/* Discards everything: measures the cost of a source alone. */
extern struct sink sink_discard;

/* A source has its catalog from the start and can push its events any number of times. */
struct source {
    struct catalog catalog;
    bool (*read)(struct source *source, struct sink *sink, struct pool *pool, struct error *err);
    void (*close)(struct source *source);
    _Atomic uint64_t parts, parts_done; /* of the read in progress, for progress reports */
    struct source *inner; /* the source this one wraps, which has the parts; or NULL */
};

bool source_read(struct source *source, struct sink *sink, struct pool *pool, struct error *err);
void source_close(struct source *source);

#endif
