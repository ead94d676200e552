/*
 * XPlane export, first read of the source: finds the names and event types used in each plane. Each
 * plane has its own metadata tables, and small ids make small files.
 */
#include "export/xplane/writer_passes.h"

enum { CACHE_BITS = 12 };

struct survey_worker {
    uint64_t cache[1 << CACHE_BITS]; /* recent uses plus one, by hash */
    struct idmap known;
    xspace_uses uses;
};

struct survey {
    struct sink sink;
    const struct xspace *space;
    struct survey_worker *workers;
};

static inline void add_use(struct survey_worker *worker, uint64_t use)
{
    uint64_t *cached = &worker->cache[use * 0x9E3779B97F4A7C15u >> (64 - CACHE_BITS)];
    if (*cached == use + 1)
        return;
    *cached = use + 1;
    if (idmap_get(&worker->known, use) != IDMAP_NONE)
        return;
    idmap_put(&worker->known, use, 1);
    *array_push(&worker->uses) = use;
}

/* Whether the first arg of a sample is its value, as in XPlane: the series of a Chrome trace, or a
 * number that equals the value. */
static bool has_value(const struct xspace *space, const struct batch *batch, uint32_t event)
{
    const struct catalog *catalog = space->catalog;
    struct arg_list args = batch_args(batch, event);
    if (args.count == 0)
        return false;
    bool is_number = args.items[0].type <= ARG_DOUBLE;
    double number = arg_number(&args.items[0]);
    if (is_number && memcmp(&number, &batch->value[event], sizeof number) == 0)
        return true;
    const struct arg *series =
        catalog_arg(catalog, &catalog->tracks.items[batch->track].args, TEXT("series"));
    return series &&
           text_equal(arg_text(catalog, series), catalog_text(catalog, args.items[0].key));
}

static void survey_samples(const struct survey *survey, struct survey_worker *worker,
                           const struct batch *batch, uint32_t plane)
{
    const struct xspace *space = survey->space;
    for (uint32_t i = 0; i < batch->count; i++)
        if (!has_value(space, batch, i)) {
            space->lacks_value[batch->track] = true;
            add_use(worker, xspace_use(plane, USE_KEY, space->key_value));
            return;
        }
}

static bool take_batch(struct sink *base, const struct batch *batch, unsigned number,
                       struct error *err)
{
    (void)err;
    const struct survey *survey = (const struct survey *)base;
    struct survey_worker *worker = &survey->workers[number];
    uint32_t plane = survey->space->lines.items[survey->space->line_of[batch->track]].plane;
    for (uint32_t i = 0; i < batch->count; i++)
        add_use(worker, xspace_use(plane, USE_TYPE, batch->type[i]));
    for (size_t i = 0; i < batch->args.count; i++) {
        const struct arg *arg = &batch->args.items[i];
        if (arg->key != survey->space->key_unknown)
            add_use(worker, xspace_use(plane, USE_KEY, arg->key));
        if (arg->type == ARG_STRING)
            add_use(worker, xspace_use(plane, USE_TEXT, arg->string));
    }
    if (batch->has_values && !survey->space->is_copy)
        survey_samples(survey, worker, batch, plane);
    return true;
}

static bool use_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return *(const uint64_t *)a < *(const uint64_t *)b;
}

void xspace_uses_sort_unique(xspace_uses *uses)
{
    size_t kept = 0;
    sort_items(uses->items, uses->count, sizeof *uses->items, use_before, NULL);
    for (size_t i = 0; i < uses->count; i++)
        if (i == 0 || uses->items[i] != uses->items[i - 1])
            uses->items[kept++] = uses->items[i];
    uses->count = kept;
}

bool xspace_survey(struct xspace *space, struct pool *pool, xspace_uses *uses, struct error *err)
{
    unsigned workers = pool_workers(pool);
    struct survey survey = {.sink = {.batch = take_batch}, .space = space};
    survey.workers = mem_zeroed(workers, sizeof *survey.workers);
    bool ok = source_read(space->source, &survey.sink, pool, err);
    for (unsigned i = 0; i < workers; i++) {
        struct survey_worker *worker = &survey.workers[i];
        for (size_t k = 0; k < worker->uses.count; k++)
            *array_push(uses) = worker->uses.items[k];
        array_free(&worker->uses);
        idmap_free(&worker->known);
    }
    mem_free(survey.workers);
    xspace_uses_sort_unique(uses);
    return ok;
}
