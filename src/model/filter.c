/*
 * Filters: whole lanes are kept or dropped; where event types are filtered, a first read counts the
 * kept events, so that later reads can number them.
 */
#include "model/filter.h"

#include "model/location.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_LISTED = 20 };

/* The number of kept events of a lane before a batch. */
struct kept_before {
    uint64_t first; /* index of the batch's first event in the source */
    uint64_t kept;  /* events kept of the batch; after counting: before it */
};

typedef ARRAY(struct kept_before) kept_list;

struct filtered {
    struct source source;
    bool *has_lane;   /* by track */
    bool **has_types; /* by track: which event types are kept; NULL for all */
    bool *types[2];   /* for host and device lanes; NULL when types are not filtered */
    kept_list *kept;  /* by track, where has_types is set */
    pthread_mutex_t lock;
};

bool filter_is_empty(const struct filter *filter)
{
    return !filter->cores && !filter->types && !filter->instances;
}

/* The next item of a list, without surrounding white space; false at its end. */
static bool next_item(const char **list, struct text *item)
{
    if (!*list || !**list)
        return false;
    size_t size = strcspn(*list, ",");
    *item = (struct text){*list, size};
    *list += size + ((*list)[size] == ',');
    while (item->size > 0 && item->data[0] == ' ')
        *item = (struct text){item->data + 1, item->size - 1};
    while (item->size > 0 && item->data[item->size - 1] == ' ')
        item->size--;
    return true;
}

static bool read_number(struct text text, int64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || *number > INT32_MAX)
            return false;
        *number = *number * 10 + (text.data[i] - '0');
    }
    return text.size > 0;
}

/* "4" or "4-7" */
static bool read_range(struct text item, int64_t *first, int64_t *last)
{
    const char *dash = memchr(item.data, '-', item.size);
    size_t size = dash ? (size_t)(dash - item.data) : item.size;
    if (!read_number((struct text){item.data, size}, first))
        return false;
    *last = *first;
    return !dash ||
           (read_number((struct text){dash + 1, item.size - size - 1}, last) && *last >= *first);
}

bool filter_check(const struct filter *filter, struct error *err)
{
    const char *lists[] = {filter->cores, filter->types, filter->instances};
    struct text item;
    for (size_t i = 0; i < 3; i++) {
        const char *list = lists[i];
        if (list && !*list)
            return error_set(err, "a filter must not be an empty list");
        while (next_item(&list, &item)) {
            int64_t first, last;
            if (item.size == 0)
                return error_set(err, "a filter has an empty item: '%s'", lists[i]);
            if (i == 0 && !read_range(item, &first, &last))
                return error_set(err, "'%.*s' is neither a core nor a range of cores such as 0-3",
                                 (int)item.size, item.data);
        }
    }
    return true;
}

/* Reports that an item of a filter matches nothing, with the available values. */
static void warn(struct catalog *catalog, const char *what, struct text item,
                 const struct text *known, size_t count)
{
    struct output text;
    output_memory(&text);
    output_format(&text, "no %s matches '%.*s'; there %s", what, (int)item.size, item.data,
                  count == 1 ? "is" : "are");
    for (size_t i = 0; i < count && i < MAX_LISTED; i++)
        output_format(&text, "%s %.*s", i ? "," : "", (int)known[i].size, known[i].data);
    if (count == 0)
        output_text(&text, " none");
    if (count > MAX_LISTED)
        output_text(&text, " and more");
    uint32_t string = catalog_string(catalog, (struct text){text.data, text.size});
    *array_push(&catalog->messages) = (struct message){.text = string, .is_ours = true};
    output_discard(&text);
}

typedef ARRAY(struct text) text_set;

static void add_once(text_set *set, struct text text)
{
    for (size_t i = 0; i < set->count; i++)
        if (text_equal(set->items[i], text))
            return;
    *array_push(set) = text;
}

static void choose_instances(struct filtered *filtered, const struct location *locations,
                             const char *list)
{
    struct catalog *catalog = &filtered->source.catalog;
    text_set known = {0};
    bool *chosen = mem_zeroed(catalog->tracks.count, sizeof *chosen);
    for (uint32_t i = 0; i < catalog->tracks.count; i++)
        if (catalog->tracks.items[i].level == TRACK_LANE)
            add_once(&known, catalog_text(catalog, locations[i].instance));
    struct text item;
    while (next_item(&list, &item)) {
        bool found = false;
        for (uint32_t i = 0; i < catalog->tracks.count; i++)
            if (catalog->tracks.items[i].level == TRACK_LANE &&
                text_equal(catalog_text(catalog, locations[i].instance), item))
                chosen[i] = found = true;
        if (!found)
            warn(catalog, "instance", item, known.items, known.count);
    }
    for (uint32_t i = 0; i < catalog->tracks.count; i++)
        filtered->has_lane[i] &= chosen[i];
    mem_free(chosen);
    array_free(&known);
}

/* Lanes without a core always pass. An item that matches nothing is a message, not an error: a list
 * may be written for several captures. */
static void choose_cores(struct filtered *filtered, const struct location *locations,
                         const char *list)
{
    struct catalog *catalog = &filtered->source.catalog;
    size_t count = catalog->tracks.count;
    bool *chosen = mem_zeroed(count, sizeof *chosen);
    text_set known = {0};
    char (*numbers)[24] = mem_alloc(count * sizeof *numbers);
    for (uint32_t i = 0; i < count; i++) {
        bool is_lane = catalog->tracks.items[i].level == TRACK_LANE;
        chosen[i] = !locations[i].has_core;
        if (is_lane && locations[i].has_core) {
            int size =
                snprintf(numbers[i], sizeof numbers[i], "%lld", (long long)locations[i].core);
            add_once(&known, (struct text){numbers[i], (size_t)size});
        }
    }
    struct text item;
    while (next_item(&list, &item)) {
        int64_t first = 0, last = -1;
        bool found = false;
        read_range(item, &first, &last);
        for (uint32_t i = 0; i < count; i++)
            if (locations[i].has_core && locations[i].core >= first && locations[i].core <= last)
                chosen[i] = found = true;
        if (!found)
            warn(catalog, "core", item, known.items, known.count);
    }
    for (uint32_t i = 0; i < count; i++)
        filtered->has_lane[i] &= chosen[i];
    mem_free(chosen);
    mem_free(numbers);
    array_free(&known);
}

/* Keeps all types on host lanes, or on device lanes. */
static void choose_group(struct filtered *filtered, bool hardware)
{
    memset(filtered->types[hardware], true, filtered->source.catalog.types.count);
}

static void choose_name(struct filtered *filtered, struct text item)
{
    struct catalog *catalog = &filtered->source.catalog;
    size_t types = catalog->types.count;
    bool found = false;
    for (uint32_t i = 0; i < types; i++)
        if (text_equal(catalog_text(catalog, catalog->types.items[i].name), item) ||
            text_equal(catalog_type_label(catalog, i), item))
            filtered->types[0][i] = filtered->types[1][i] = found = true;
    if (found)
        return;
    text_set known = {0};
    for (uint32_t i = 1; i < types && known.count <= MAX_LISTED; i++)
        add_once(&known, catalog_type_label(catalog, i));
    warn(catalog, "event type", item, known.items, known.count);
    array_free(&known);
}

/* Host and device lanes have separate lists, as "hardware" and "software" choose by lane, not by
 * name. Lanes that keep all types get no list, so that their batches pass without a copy. */
static void choose_types(struct filtered *filtered, const struct location *locations,
                         const char *list)
{
    const struct catalog *catalog = &filtered->source.catalog;
    size_t types = catalog->types.count;
    bool all[2] = {true, true}, any[2] = {false, false};
    for (size_t sort = 0; sort < 2; sort++)
        filtered->types[sort] = mem_zeroed(types, sizeof *filtered->types[sort]);
    struct text item;
    while (next_item(&list, &item)) {
        bool hardware = text_equal(item, TEXT("hardware"));
        if (hardware || text_equal(item, TEXT("software")))
            choose_group(filtered, hardware);
        else
            choose_name(filtered, item);
    }
    for (size_t sort = 0; sort < 2; sort++)
        for (size_t i = 0; i < types; i++) {
            all[sort] &= filtered->types[sort][i];
            any[sort] |= filtered->types[sort][i];
        }
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        size_t sort = locations[i].layer >= LAYER_GPU;
        filtered->has_lane[i] &= any[sort];
        filtered->has_types[i] = all[sort] ? NULL : filtered->types[sort];
    }
}

static uint32_t count_kept(const struct filtered *filtered, const struct batch *batch)
{
    const bool *has_type = filtered->has_types[batch->track];
    uint32_t kept = has_type ? 0 : batch->count;
    for (uint32_t i = 0; i < batch->count && has_type; i++)
        kept += has_type[batch->type[i]];
    return kept;
}

struct counting {
    struct sink sink;
    struct filtered *filtered;
};

static bool count_batch(struct sink *base, const struct batch *batch, unsigned worker,
                        struct error *err)
{
    (void)worker, (void)err;
    struct filtered *filtered = ((struct counting *)base)->filtered;
    if (!filtered->has_lane[batch->track] || batch->count == 0)
        return true;
    struct kept_before entry = {batch->first, count_kept(filtered, batch)};
    pthread_mutex_lock(&filtered->lock);
    *array_push(&filtered->kept[batch->track]) = entry;
    pthread_mutex_unlock(&filtered->lock);
    return true;
}

static int by_first(const void *a, const void *b)
{
    const struct kept_before *m = a, *n = b;
    return m->first < n->first ? -1 : m->first > n->first;
}

static bool count_types(struct filtered *filtered, struct pool *pool, struct error *err)
{
    struct catalog *catalog = &filtered->source.catalog;
    struct counting counting = {.sink = {.batch = count_batch}, .filtered = filtered};
    filtered->kept = mem_zeroed(catalog->tracks.count, sizeof *filtered->kept);
    if (!filtered->source.inner->read(filtered->source.inner, &counting.sink, pool, err))
        return false;
    for (size_t i = 0; i < catalog->tracks.count; i++) {
        kept_list *list = &filtered->kept[i];
        uint64_t before = 0;
        if (list->count > 0)
            qsort(list->items, list->count, sizeof *list->items, by_first);
        for (size_t k = 0; k < list->count; k++) {
            uint64_t kept = list->items[k].kept;
            list->items[k].kept = before;
            before += kept;
        }
        catalog->tracks.items[i].events = before;
    }
    return true;
}

/* The sink between the inner source and the caller's. */
struct passing {
    struct sink sink;
    struct filtered *filtered;
    struct sink *outer;
    struct batch *batches; /* one per worker: the kept events of the current batch */
};

static uint64_t kept_before(const kept_list *list, uint64_t first)
{
    const struct kept_before key = {.first = first};
    const struct kept_before *found =
        bsearch(&key, list->items, list->count, sizeof *list->items, by_first);
    return found ? found->kept : 0;
}

static void copy_event(struct batch *to, const struct batch *from, uint32_t event)
{
    struct arg_list args = batch_args(from, event);
    uint32_t at = to->count++;
    to->start_ps[at] = from->start_ps[event];
    to->duration_ps[at] = from->duration_ps[event];
    to->type[at] = from->type[event];
    to->occurrences[at] = from->has_occurrences ? from->occurrences[event] : OCCURRENCES_TIMED;
    to->value[at] = from->has_values ? from->value[event] : 0;
    array_reserve(&to->args, to->args.count + args.count);
    if (args.count > 0)
        memcpy(to->args.items + to->args.count, args.items, args.count * sizeof *args.items);
    to->args.count += args.count;
    to->arg_end[at] = (uint32_t)to->args.count;
}

/* Runs on several threads; each worker has a batch of its own for the events that are kept. A last
 * batch passes even when empty, as sinks wait for the end of its sequence number. */
static bool pass_batch(struct sink *base, const struct batch *batch, unsigned worker,
                       struct error *err)
{
    struct passing *passing = (struct passing *)base;
    struct filtered *filtered = passing->filtered;
    bool stays = filtered->has_lane[batch->track];
    const bool *has_type = filtered->has_types[batch->track];
    if (stays && !has_type)
        return passing->outer->batch(passing->outer, batch, worker, err);
    struct batch *kept = &passing->batches[worker];
    kept->track = batch->track;
    kept->sequence = batch->sequence;
    kept->last = batch->last;
    kept->has_occurrences = batch->has_occurrences;
    kept->has_values = batch->has_values;
    kept->count = 0;
    kept->args.count = 0;
    kept->first = stays ? kept_before(&filtered->kept[batch->track], batch->first) : 0;
    for (uint32_t i = 0; i < batch->count && stays; i++)
        if (has_type[batch->type[i]])
            copy_event(kept, batch, i);
    if (kept->count == 0 && !kept->last)
        return true;
    return passing->outer->batch(passing->outer, kept, worker, err);
}

static void pass_cancel(struct sink *base)
{
    struct sink *outer = ((struct passing *)base)->outer;
    if (outer->cancel)
        outer->cancel(outer);
}

static bool filtered_read(struct source *base, struct sink *sink, struct pool *pool,
                          struct error *err)
{
    struct filtered *filtered = (struct filtered *)base;
    unsigned workers = pool_workers(pool);
    filtered->source.inner->catalog =
        filtered->source.catalog; /* strings may have been added to it */
    struct passing passing = {
        .sink = {.batch = pass_batch, .cancel = pass_cancel, .together = sink->together},
        .filtered = filtered,
        .outer = sink,
    };
    passing.batches = mem_alloc(workers * sizeof *passing.batches);
    for (unsigned i = 0; i < workers; i++)
        batch_init(&passing.batches[i]);
    bool ok = filtered->source.inner->read(filtered->source.inner, &passing.sink, pool, err);
    for (unsigned i = 0; i < workers; i++)
        batch_free(&passing.batches[i]);
    mem_free(passing.batches);
    return ok;
}

static void filtered_close(struct source *base)
{
    struct filtered *filtered = (struct filtered *)base;
    for (size_t i = 0; filtered->kept && i < filtered->source.catalog.tracks.count; i++)
        array_free(&filtered->kept[i]);
    mem_free(filtered->kept);
    mem_free(filtered->has_lane);
    mem_free(filtered->has_types);
    mem_free(filtered->types[0]);
    mem_free(filtered->types[1]);
    pthread_mutex_destroy(&filtered->lock);
    filtered->source.inner->catalog = filtered->source.catalog; /* return it to its owner */
    source_close(filtered->source.inner);
    mem_free(filtered);
}

/* Takes the catalog from the inner source until it is closed, so that messages can be added. On
 * failure the result is still a source, which the caller closes. */
bool filter_source(struct source **source, const struct filter *filter, struct pool *pool,
                   struct error *err)
{
    struct filtered *filtered = mem_zeroed(1, sizeof *filtered);
    filtered->source.catalog = (*source)->catalog;
    filtered->source.read = filtered_read;
    filtered->source.close = filtered_close;
    filtered->source.inner = *source;
    pthread_mutex_init(&filtered->lock, NULL);
    struct catalog *catalog = &filtered->source.catalog;
    struct location *locations = locations_of(catalog);
    filtered->has_lane = mem_alloc(catalog->tracks.count * sizeof *filtered->has_lane);
    memset(filtered->has_lane, true, catalog->tracks.count);
    filtered->has_types = mem_zeroed(catalog->tracks.count, sizeof *filtered->has_types);
    if (filter->instances)
        choose_instances(filtered, locations, filter->instances);
    if (filter->cores)
        choose_cores(filtered, locations, filter->cores);
    if (filter->types)
        choose_types(filtered, locations, filter->types);
    for (size_t i = 0; i < catalog->tracks.count; i++)
        if (!filtered->has_lane[i])
            catalog->tracks.items[i].events = 0;
    mem_free(locations);
    *source = &filtered->source;
    return !filter->types || count_types(filtered, pool, err);
}
