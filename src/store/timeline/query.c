/*
 * Queries the index: descends the tree of each row only as deep as the pixels require.
 */
#include "store/timeline/block.h"

#include <math.h>

enum { MAX_PENDING = 4 * (TOP_LEVEL + 1) };

struct walk {
    struct timeline *timeline;
    const struct timeline_query *query;
    struct timeline_result result; /* the caller's; kept local while it grows */
    struct error *err;
    int64_t *edges; /* start of each pixel, then the end of the last */
    double pixels_per_ps;
    uint64_t pixel_ps;  /* rounded up: an event this long is an item of its own */
    uint64_t narrow_ps; /* rounded down: a node this long becomes one item */

    /* The current row. */
    const struct row_entry *row;
    const struct timeline_track *track;
    const struct timeline_ids *only; /* NULL: all its events */
    size_t first_item;
    struct block block;
    struct timeline_item open; /* sum of the current pixel; count 0: empty */
    size_t open_pixel;
    /* Longest event of the block in `open`; its id and name are not looked up yet. Or NO_EVENT. */
    size_t longest;
};

#define NO_EVENT SIZE_MAX

static size_t pixel_of(const struct walk *walk, int64_t time_ps)
{
    if (time_ps <= walk->query->from_ps)
        return 0;
    double distance = (double)((uint64_t)time_ps - (uint64_t)walk->query->from_ps);
    double estimate = distance * walk->pixels_per_ps;
    size_t last = walk->query->width - 1;
    size_t pixel = estimate < (double)last ? (size_t)estimate : last;
    while (pixel > 0 && walk->edges[pixel] > time_ps)
        pixel--;
    while (pixel < last && walk->edges[pixel + 1] <= time_ps)
        pixel++;
    return pixel;
}

static void look_up_longest(struct walk *walk);

static void flush(struct walk *walk)
{
    look_up_longest(walk);
    if (walk->open.count > 0)
        *array_push(&walk->result.items) = walk->open;
    walk->open.count = 0;
}

/* Whether the visible part of an event is at least a pixel wide. */
static bool is_wide(const struct walk *walk, int64_t start_ps, int64_t end_ps)
{
    int64_t from = walk->query->from_ps;
    uint64_t seen = (uint64_t)end_ps - (uint64_t)(start_ps > from ? start_ps : from);
    return end_ps > from && seen >= walk->pixel_ps;
}

static void merge_item(struct timeline_item *open, const struct timeline_item *item,
                       bool is_counter)
{
    open->end_ps = item->end_ps;
    open->count += item->count;
    if (is_counter) {
        open->sum += item->sum;
        open->min = fmin(open->min, item->min);
        open->max = fmax(open->max, item->max);
        open->last = item->last;
        return;
    }
    open->busy_ps = add_saturated(open->busy_ps, item->busy_ps);
    if (item->longest_ps > open->longest_ps) {
        open->longest_ps = item->longest_ps;
        open->id = item->id;
        open->name = item->name;
    }
}

/* Adds the next item in time order: small items of one pixel are merged. */
static void add_item(struct walk *walk, const struct timeline_item *item)
{
    if (item->count == 1 && is_wide(walk, item->start_ps, item->end_ps)) {
        flush(walk);
        *array_push(&walk->result.items) = *item;
        return;
    }
    size_t pixel = pixel_of(walk, item->start_ps);
    if (walk->open.count > 0 && pixel == walk->open_pixel) {
        look_up_longest(walk);
        merge_item(&walk->open, item, walk->track->is_counter);
        return;
    }
    flush(walk);
    walk->open = *item;
    walk->open_pixel = pixel;
}

/* Loads the block with this number; it stays loaded for the following events. */
static bool load_block(struct walk *walk, size_t number)
{
    if (walk->block.number == number)
        return true;
    look_up_longest(walk);
    return block_load(&walk->block, walk->timeline, walk->row, number, walk->err);
}

static uint64_t id_of(const struct walk *walk, size_t event)
{
    return walk->track->first_id + block_event_number(&walk->block, event);
}

static bool is_in(const struct timeline_ids *ids, uint64_t id)
{
    return id < ids->count && (ids->bits[id / 64] >> id % 64 & 1);
}

static void name_event(const struct walk *walk, size_t event, struct timeline_item *item)
{
    item->id = id_of(walk, event);
    item->name = block_event_name(&walk->block, event);
}

static void look_up_longest(struct walk *walk)
{
    if (walk->longest != NO_EVENT)
        name_event(walk, walk->longest, &walk->open);
    walk->longest = NO_EVENT;
}

static struct timeline_item event_item(const struct walk *walk, size_t event)
{
    const struct block *block = &walk->block;
    const struct block_head *head = &block->head;
    struct timeline_item item = {
        .start_ps = block->start_ps[event], .end_ps = block->end_ps[event], .count = 1};
    if (walk->track->is_counter) {
        uint64_t bits = bits_at(block->values, event, head->value_bits);
        double value;
        if (head->has_whole_values)
            value = (double)(int64_t)((uint64_t)head->value_base + bits);
        else
            memcpy(&value, &bits, sizeof value);
        item.sum = item.min = item.max = item.last = value;
        return item;
    }
    item.busy_ps = item.longest_ps = sub_saturated(item.end_ps, item.start_ps);
    name_event(walk, event, &item);
    return item;
}

/* Fast path: adds small events that start in the open pixel without looking up their names; returns
 * the first event of the block that needs the general path. */
static size_t add_small(struct walk *walk, size_t event, size_t end)
{
    const struct block *block = &walk->block;
    struct timeline_item *open = &walk->open;
    if (open->count == 0 || walk->track->is_counter)
        return event;
    int64_t edge = walk->edges[walk->open_pixel + 1];
    for (; event < end && block->start_ps[event] < edge; event++) {
        int64_t duration = sub_saturated(block->end_ps[event], block->start_ps[event]);
        if ((uint64_t)duration >= walk->pixel_ps)
            break;
        open->count++;
        open->busy_ps = add_saturated(open->busy_ps, duration);
        open->end_ps = block->end_ps[event];
        if (duration > open->longest_ps) {
            open->longest_ps = duration;
            walk->longest = event;
        }
    }
    return event;
}

/* Adds the events of a block that intersect the window. */
static void add_block(struct walk *walk, size_t event, size_t end)
{
    const struct timeline_query *query = walk->query;
    const struct block *block = &walk->block;
    while (event < end) {
        if (!walk->only)
            event = add_small(walk, event, end);
        if (event == end || block->start_ps[event] >= query->to_ps)
            return;
        bool is_selected = !walk->only || is_in(walk->only, id_of(walk, event));
        if (!is_selected) {
            event++;
            continue;
        }
        if (block->start_ps[event] >= query->from_ps || block->end_ps[event] > query->from_ps) {
            struct timeline_item item = event_item(walk, event);
            add_item(walk, &item);
        }
        event++;
    }
}

/* Valid rows have at most two items per pixel. */
static bool is_small(const struct walk *walk)
{
    uint64_t items = walk->result.items.count - walk->first_item;
    return items <= 2 * (uint64_t)walk->query->width ||
           timeline_damaged(walk->timeline, walk->row->nodes, walk->err);
}

static bool add_events(struct walk *walk, uint64_t first, uint64_t end)
{
    while (first < end) {
        size_t block = (size_t)(first / BLOCK_EVENTS), event = (size_t)(first % BLOCK_EVENTS);
        uint64_t left = end - first, in_block = BLOCK_EVENTS - event;
        size_t count = (size_t)(left < in_block ? left : in_block);
        if (!load_block(walk, block) || !is_small(walk))
            return false;
        add_block(walk, event, event + count);
        first += count;
    }
    return true;
}

static struct timeline_item node_item(const struct walk *walk, const struct node *node)
{
    struct timeline_item item = {
        .start_ps = node->start_ps, .end_ps = node->end_ps, .count = node->count};
    if (walk->track->is_counter) {
        item.sum = node->sum;
        item.min = node->min;
        item.max = node->max;
        item.last = node->last;
        return item;
    }
    item.busy_ps = node->busy_ps;
    item.longest_ps = node->longest_ps;
    item.id = walk->track->first_id + node->longest_number;
    item.name = node->longest_name;
    return item;
}

/* The end of the interval of a node: none of its events starts later. */
static int64_t node_last(const struct walk *walk, const struct node *node)
{
    uint64_t origin = (uint64_t)walk->timeline->trailer.origin_ps;
    uint64_t length = node->level < TOP_LEVEL ? (uint64_t)1 << 2 * node->level : 0;
    uint64_t last = ((uint64_t)node->start_ps - origin) | (length - 1);
    uint64_t end_of_time = (uint64_t)INT64_MAX - origin;
    return (int64_t)((last < end_of_time ? last : end_of_time) + origin);
}

/* Whether all events of a node start in the window and so close that they are one item. */
static bool is_one_item(const struct walk *walk, const struct node *node)
{
    const struct timeline_query *query = walk->query;
    if (walk->only || node->start_ps < query->from_ps || node_last(walk, node) >= query->to_ps ||
        node->level >= TOP_LEVEL || (uint64_t)1 << 2 * node->level > walk->narrow_ps)
        return false;
    if (node->count == 1)
        return true;
    /* Only its last event can be as long as a pixel, and is then an item of its own. For counters,
     * the duration of the last sample is unknown. */
    uint64_t longest = walk->track->is_counter ? (uint64_t)node->end_ps - (uint64_t)node->start_ps
                                               : (uint64_t)node->longest_ps;
    return longest < walk->pixel_ps;
}

static const struct node *node_at(struct walk *walk, uint32_t index)
{
    uint64_t offset = walk->row->nodes + (uint64_t)index * sizeof(struct node);
    const struct node *node = timeline_range(walk->timeline, offset, sizeof *node, walk->err);
    if (!node)
        return NULL;
    uint64_t events = walk->row->events;
    if (node->count == 0 || node->first > events || node->count > events - node->first ||
        node->children > 4 || node->level > TOP_LEVEL ||
        (node->children &&
         (node->first_child <= index || node->first_child > walk->row->node_count ||
          node->children > walk->row->node_count - node->first_child))) {
        timeline_damaged(walk->timeline, offset, walk->err);
        return NULL;
    }
    return node;
}

/* Depth first with a fixed stack, in order of time. A damaged tree cannot make it loop: it visits
 * at most as many nodes as the row has, and events only forward. */
static bool read_row(struct walk *walk)
{
    const struct timeline_query *query = walk->query;
    uint32_t pending[MAX_PENDING];
    size_t count = 0;
    uint64_t done = 0; /* events before this one were added or skipped */
    pending[count++] = 0;
    for (uint32_t visited = 0; count > 0; visited++) { /* each node and event at most once */
        if (visited == walk->row->node_count)
            return timeline_damaged(walk->timeline, walk->row->nodes, walk->err);
        uint32_t index = pending[--count];
        const struct node *node = node_at(walk, index);
        if (!node)
            return false;
        if (node->start_ps >= query->to_ps)
            break; /* so do all later ones */
        if (node->first < done)
            return timeline_damaged(walk->timeline, walk->row->nodes, walk->err);
        uint64_t end = (uint64_t)node->first + node->count;
        if (node->end_ps < query->from_ps) {
            done = end;
        } else if (is_one_item(walk, node)) {
            struct timeline_item item = node_item(walk, node);
            add_item(walk, &item);
            done = end;
        } else if (node->children == 0) {
            if (!add_events(walk, node->first, end))
                return false;
            done = end;
        } else if (count + node->children > MAX_PENDING) {
            return timeline_damaged(walk->timeline, walk->row->nodes, walk->err);
        } else {
            for (uint32_t child = node->children; child > 0; child--)
                pending[count++] = node->first_child + child - 1;
        }
    }
    flush(walk);
    return is_small(walk);
}

/* How many of the ids from `first` on are in the set, up to `most`. */
static uint64_t count_ids(const struct timeline_ids *ids, uint64_t first, uint64_t most)
{
    uint64_t end = first > UINT64_MAX - most ? UINT64_MAX : first + most, found = 0;
    if (end > ids->count)
        end = ids->count;
    for (uint64_t id = first; id < end;) {
        uint64_t word = ids->bits[id / 64] >> id % 64, left = 64 - id % 64;
        if (left > end - id) {
            left = end - id;
            word &= ((uint64_t)1 << left) - 1;
        }
        found += (uint64_t)__builtin_popcountll(word);
        id += left;
    }
    return found;
}

/* A selection of all events is the same as none, which is faster. Rows without items are not
 * listed. */
static bool read_track(struct walk *walk, uint32_t track, const struct timeline_ids *only)
{
    struct timeline *timeline = walk->timeline;
    walk->track = &timeline->tracks[track];
    walk->only = only;
    if (only) {
        uint64_t selected = count_ids(only, walk->track->first_id, walk->track->events);
        if (selected == 0 || walk->track->is_counter)
            return true;
        if (selected == walk->track->events)
            walk->only = NULL;
    }
    for (uint32_t i = 0; i < walk->track->row_count; i++) {
        walk->row = timeline_row_at(timeline, track, i, walk->err);
        if (!walk->row)
            return false;
        walk->block.number = SIZE_MAX;
        walk->longest = NO_EVENT;
        walk->first_item = walk->result.items.count;
        if (!read_row(walk))
            return false;
        size_t before = walk->first_item;
        if (walk->result.items.count > before)
            *array_push(&walk->result.rows) =
                (struct timeline_row){.track = track,
                                      .row = i,
                                      .first_item = before,
                                      .item_count = walk->result.items.count - before};
    }
    return true;
}

/* Pixel i starts at the first t with (t - from) * width >= i * (to - from). */
static void compute_edges(struct walk *walk)
{
    const struct timeline_query *query = walk->query;
    uint64_t span = (uint64_t)query->to_ps - (uint64_t)query->from_ps;
    walk->edges = mem_alloc((query->width + (size_t)1) * sizeof *walk->edges);
    for (uint64_t i = 0; i <= query->width; i++) {
        unsigned __int128 scaled = (unsigned __int128)i * span + query->width - 1;
        walk->edges[i] = (int64_t)((uint64_t)query->from_ps + (uint64_t)(scaled / query->width));
    }
    walk->pixels_per_ps = (double)query->width / (double)span;
    walk->narrow_ps = span / query->width ? span / query->width : 1;
    walk->pixel_ps = span / query->width + (span % query->width != 0);
}

bool timeline_query(struct timeline *timeline, const struct timeline_query *query,
                    struct timeline_result *result, struct error *err)
{
    result->rows.count = result->items.count = 0;
    if (query->width == 0 || query->from_ps >= query->to_ps)
        return error_set(err, "a window needs a width, and an end after its start");
    struct walk walk = {.timeline = timeline, .query = query, .result = *result, .err = err};
    compute_edges(&walk);
    bool ok = true;
    for (size_t i = 0; ok && i < query->track_count; i++)
        ok = query->tracks[i] < timeline->trailer.track_count
                 ? read_track(&walk, query->tracks[i], query->only ? &query->only[i] : NULL)
                 : error_set(err, "track %u does not exist", query->tracks[i]);
    mem_free(walk.edges);
    *result = walk.result;
    timeline_trim(timeline);
    return ok;
}

void timeline_result_free(struct timeline_result *result)
{
    array_free(&result->rows);
    array_free(&result->items);
}
