/*
 * Merged sources: reads the parts one after the other, each with all threads, and passes their
 * batches on with the numbers of the merged catalog.
 */
#include "import/merged/merged.h"

#include "import/merged/merged_passes.h"

#include <stdatomic.h>
#include <stdio.h>

enum { PS_PER_NS = 1000, NS_PER_SECOND = 1000000000 };

/* Captures further apart than this belong to different runs. */
static const int64_t LARGEST_GAP_NS = 3600LL * NS_PER_SECOND;

struct merged {
    struct source source;
    source_list parts;
    struct part_map *maps;
};

/* The sink between a part and the caller's. */
struct passing {
    struct sink sink;
    struct merged *merged;
    const struct part_map *map;
    struct sink *outer;
    struct batch *batches;          /* one per worker */
    uint64_t first_sequence;        /* of the part */
    _Atomic uint64_t next_sequence; /* after the part's numbers so far */
};

static void note_sequence(struct passing *passing, uint64_t sequence)
{
    uint64_t next = atomic_load_explicit(&passing->next_sequence, memory_order_relaxed);
    while (next <= sequence &&
           !atomic_compare_exchange_weak_explicit(&passing->next_sequence, &next, sequence + 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* Runs on several threads; each worker has columns of its own for what changes: times, types, args.
 * The other columns are passed on without a copy. */
static bool pass_batch(struct sink *base, const struct batch *batch, unsigned worker,
                       struct error *err)
{
    struct passing *passing = (struct passing *)base;
    const struct part_map *map = passing->map;
    struct batch *own = &passing->batches[worker];
    struct batch mapped = *batch; /* other columns are the part's own */
    mapped.track = map->tracks[batch->track];
    mapped.sequence = passing->first_sequence + batch->sequence;
    mapped.start_ps = own->start_ps;
    mapped.type = own->type;
    for (uint32_t i = 0; i < batch->count; i++) {
        mapped.start_ps[i] = add_saturated(batch->start_ps[i], map->shift_ps);
        mapped.type[i] = map_type(map, batch->type[i]);
    }
    size_t args = batch->count > 0 ? batch->arg_end[batch->count - 1] : 0;
    array_reserve(&own->args, args);
    if (args > 0)
        memcpy(own->args.items, batch->args.items, args * sizeof *own->args.items);
    map_args(map, own->args.items, args);
    mapped.args.items = own->args.items;
    mapped.args.count = args;
    note_sequence(passing, mapped.sequence);
    bool ok = passing->outer->batch(passing->outer, &mapped, worker, err);
    atomic_fetch_add_explicit(&passing->merged->source.parts_done, batch->count,
                              memory_order_relaxed);
    return ok;
}

static void pass_cancel(struct sink *base)
{
    struct sink *outer = ((struct passing *)base)->outer;
    if (outer->cancel)
        outer->cancel(outer);
}

static bool read_part(struct passing *passing, struct source *part, struct pool *pool,
                      struct error *err)
{
    const struct part_map *map = passing->map;
    const uint8_t *wanted = passing->outer->wanted;
    uint8_t *own_wanted = wanted ? mem_alloc(map->string_count) : NULL;
    for (size_t i = 0; i < map->string_count && wanted; i++)
        own_wanted[i] = wanted[map->strings[i]];
    passing->sink.wanted = own_wanted;
    passing->first_sequence = atomic_load(&passing->next_sequence);
    bool ok = part->read(part, &passing->sink, pool, err);
    mem_free(own_wanted);
    return ok;
}

/* Parts are read one after the other, so that the sequence numbers of each follow those of the part
 * before. Progress is counted in events, since parts differ in what their own parts are. */
static bool merged_read(struct source *base, struct sink *sink, struct pool *pool,
                        struct error *err)
{
    struct merged *merged = (struct merged *)base;
    unsigned workers = pool_workers(pool);
    struct passing passing = {
        .sink = {.batch = pass_batch, .cancel = pass_cancel, .together = sink->together},
        .merged = merged,
        .outer = sink,
    };
    uint64_t events = 0;
    const struct track *track;
    array_each (track, &base->catalog.tracks)
        events += track->events;
    atomic_store(&base->parts, events);
    atomic_store(&base->parts_done, 0);
    passing.batches = mem_alloc(workers * sizeof *passing.batches);
    for (unsigned i = 0; i < workers; i++)
        batch_init(&passing.batches[i]);
    bool ok = true;
    for (size_t i = 0; i < merged->parts.count && ok; i++) {
        passing.map = &merged->maps[i];
        ok = read_part(&passing, merged->parts.items[i], pool, err);
    }
    for (unsigned i = 0; i < workers; i++)
        batch_free(&passing.batches[i]);
    mem_free(passing.batches);
    return ok;
}

static void merged_close(struct source *base)
{
    struct merged *merged = (struct merged *)base;
    for (size_t i = 0; i < merged->parts.count; i++) {
        part_map_free(&merged->maps[i]);
        source_close(merged->parts.items[i]);
    }
    mem_free(merged->maps);
    array_free(&merged->parts);
    catalog_free(&base->catalog);
    mem_free(merged);
}

/* About the files, not from one of them. */
static void say(struct catalog *catalog, uint32_t host, const char *text)
{
    *array_push(&catalog->messages) = (struct message){
        .host = host, .is_ours = true, .text = catalog_string(catalog, text_of(text))};
}

static void name_format(struct catalog *catalog, const source_list *parts)
{
    struct output name;
    output_memory(&name);
    for (size_t i = 0; i < parts->count; i++)
        output_format(&name, "%s%s", i > 0 ? "+" : "", parts->items[i]->catalog.format);
    uint32_t string = catalog_string(catalog, (struct text){name.data, name.size});
    catalog->format = catalog_text(catalog, string).data;
    output_discard(&name);
}

/* Time 0 is the earliest start; parts with an unknown start begin there. */
static void set_start(struct catalog *catalog, const source_list *parts)
{
    struct source **part;
    array_each (part, parts) {
        int64_t start_ns = (*part)->catalog.start_epoch_ns;
        if (start_ns != TIME_UNSET &&
            (catalog->start_epoch_ns == TIME_UNSET || start_ns < catalog->start_epoch_ns))
            catalog->start_epoch_ns = start_ns;
    }
}

static bool find_shift(const struct catalog *merged, const struct catalog *part, int64_t *shift_ps)
{
    int64_t shift_ns;
    if (part->start_epoch_ns != TIME_UNSET &&
        !__builtin_sub_overflow(part->start_epoch_ns, merged->start_epoch_ns, &shift_ns) &&
        !__builtin_mul_overflow(shift_ns, (int64_t)PS_PER_NS, shift_ps))
        return true;
    *shift_ps = 0;
    return merged->start_epoch_ns == TIME_UNSET;
}

/* Takes ownership of the parts and never fails. A single part is returned as it is, without the
 * cost of mapping. */
struct source *merged_open(source_list *parts)
{
    if (parts->count == 1) {
        struct source *only = parts->items[0];
        array_free(parts);
        return only;
    }
    struct merged *merged = mem_zeroed(1, sizeof *merged);
    struct catalog *catalog = &merged->source.catalog;
    merged->source.read = merged_read;
    merged->source.close = merged_close;
    merged->parts = *parts;
    *parts = (source_list){0};
    merged->maps = mem_zeroed(merged->parts.count, sizeof *merged->maps);
    catalog_init(catalog);
    set_start(catalog, &merged->parts);
    for (size_t i = 0; i < merged->parts.count; i++) {
        const struct catalog *part = &merged->parts.items[i]->catalog;
        struct part_map *map = &merged->maps[i];
        bool is_aligned = find_shift(catalog, part, &map->shift_ps);
        merge_catalog(catalog, part, map);
        if (!is_aligned)
            say(catalog, map->first_host,
                "its absolute time is unknown; shown as if it started with the others");
    }
    name_format(catalog, &merged->parts);
    return &merged->source;
}

/* When a catalog's events happened. */
struct period {
    int64_t start_ns, stop_ns;
};

static bool period_of(const struct catalog *catalog, struct period *period)
{
    *period = (struct period){catalog->start_epoch_ns, catalog->stop_epoch_ns};
    if (period->stop_ns < period->start_ns)
        period->stop_ns = period->start_ns;
    return period->start_ns != TIME_UNSET;
}

/* The gap between two periods, 0 when they overlap. */
static int64_t gap_ns(const struct period *a, const struct period *b)
{
    int64_t after = sub_saturated(a->start_ns, b->stop_ns);
    int64_t before = sub_saturated(b->start_ns, a->stop_ns);
    int64_t gap = after > before ? after : before;
    return gap > 0 ? gap : 0;
}

/* Whether one is a conversion of the other: they begin and end together, to the nanosecond, on the
 * same machine. */
static bool is_copy(const struct catalog *part, const struct catalog *of)
{
    const struct host *host, *other;
    array_each (host, &part->hosts)
        array_each (other, &of->hosts)
            if (host->start_epoch_ns != TIME_UNSET &&
                host->start_epoch_ns == other->start_epoch_ns &&
                host->stop_epoch_ns == other->stop_epoch_ns &&
                text_equal(catalog_text(part, host->name), catalog_text(of, other->name)))
                return true;
    return false;
}

static const char *first_file(const struct catalog *catalog)
{
    return catalog->hosts.count > 0 ? catalog_text(catalog, catalog->hosts.items[0].file).data
                                    : catalog->format;
}

struct chosen {
    source_list *parts;
    size_t kept;
    struct period period; /* of those that were kept */
    bool has_period;
};

/* Says in the first part's catalog why: that one is always kept, and its messages survive the
 * merge. */
static bool is_left_out(const struct chosen *chosen, const struct source *part)
{
    struct catalog *first = &chosen->parts->items[0]->catalog;
    struct period own;
    char text[1024];
    for (size_t i = 0; i < chosen->kept; i++) {
        const struct catalog *other = &chosen->parts->items[i]->catalog;
        if (!is_copy(&part->catalog, other))
            continue;
        snprintf(text, sizeof text, "%.400s was skipped: it is the same capture as %.400s",
                 first_file(&part->catalog), first_file(other));
        say(first, 0, text);
        return true;
    }
    if (!period_of(&part->catalog, &own) || !chosen->has_period)
        return false;
    int64_t apart_ns = gap_ns(&own, &chosen->period);
    long long hours = apart_ns / LARGEST_GAP_NS;
    if (apart_ns <= LARGEST_GAP_NS)
        return false;
    snprintf(text, sizeof text,
             "%.400s was skipped: it was captured %lld hour%s %s than the rest; open it by itself",
             first_file(&part->catalog), hours, hours == 1 ? "" : "s",
             own.start_ns > chosen->period.start_ns ? "later" : "earlier");
    say(first, 0, text);
    return true;
}

static void keep(struct chosen *chosen, struct source *part)
{
    struct period own, *all = &chosen->period;
    chosen->parts->items[chosen->kept++] = part;
    if (!period_of(&part->catalog, &own))
        return;
    if (!chosen->has_period)
        *all = own;
    all->start_ns = own.start_ns < all->start_ns ? own.start_ns : all->start_ns;
    all->stop_ns = own.stop_ns > all->stop_ns ? own.stop_ns : all->stop_ns;
    chosen->has_period = true;
}

void merged_leave_out(source_list *parts)
{
    struct chosen chosen = {.parts = parts};
    for (size_t i = 0; i < parts->count; i++)
        if (is_left_out(&chosen, parts->items[i]))
            source_close(parts->items[i]);
        else
            keep(&chosen, parts->items[i]);
    parts->count = chosen.kept;
}
