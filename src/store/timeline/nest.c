/*
 * Walks the events of a track in order of time, with the events that contain each of them: for call
 * trees and self time. Merges the rows of the track, in which events do not overlap.
 */
#include "store/timeline/block.h"

enum { MAX_ROWS = 8192 };

/* The next event of a row. */
struct cursor {
    const struct row_entry *row;
    struct block block;
    uint64_t next; /* index of the event in the row */
    uint32_t number;
};

struct open_event {
    int64_t start_ps, end_ps; /* within the range */
    int64_t whole_end_ps;
    int64_t inside_ps; /* covered by events inside it */
    size_t node;
};

struct walk {
    struct timeline *timeline;
    const struct timeline_visitor *visitor;
    struct error *err;
    int64_t from_ps, to_ps;
    bool is_flat;
    struct cursor **heap; /* the earliest event first */
    size_t count;
    ARRAY(struct open_event) open; /* ends decrease from the outermost to the innermost */
};

static size_t in_block(const struct cursor *cursor)
{
    return (size_t)(cursor->next % BLOCK_EVENTS);
}

static int64_t start_of(const struct cursor *cursor)
{
    return cursor->block.start_ps[in_block(cursor)];
}

static bool is_before(const struct cursor *a, const struct cursor *b)
{
    int64_t left = start_of(a), right = start_of(b);
    return left != right ? left < right : a->number < b->number;
}

static void sift_down(struct walk *walk, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < walk->count && is_before(walk->heap[child + 1], walk->heap[child]))
            child++;
        if (child >= walk->count || !is_before(walk->heap[child], walk->heap[at]))
            return;
        struct cursor *lower = walk->heap[child];
        walk->heap[child] = walk->heap[at];
        walk->heap[at] = lower;
        at = child;
    }
}

/* Moves to the first event at or after `next` that intersects the range; *more is false if there
 * is none. */
static bool settle(struct walk *walk, struct cursor *cursor, bool *more)
{
    for (*more = false; cursor->next < cursor->row->events; cursor->next++) {
        size_t block = (size_t)(cursor->next / BLOCK_EVENTS);
        if (!block_load(&cursor->block, walk->timeline, cursor->row, block, walk->err))
            return false;
        int64_t start = start_of(cursor), end = cursor->block.end_ps[in_block(cursor)];
        if (start >= walk->to_ps)
            return true;
        *more = start >= walk->from_ps || end > walk->from_ps;
        if (*more)
            return true;
    }
    return true;
}

/* A cursor for each row, at its first event in the range; the heap owns them, also on failure. */
static bool begin(struct walk *walk, uint32_t track)
{
    uint32_t rows = walk->timeline->tracks[track].row_count;
    if (rows > MAX_ROWS)
        return error_set(walk->err, "more than %d events of the track overlap", MAX_ROWS);
    walk->heap = mem_zeroed(rows + (size_t)1, sizeof *walk->heap);
    for (uint32_t i = 0; i < rows; i++) {
        struct cursor *cursor = mem_alloc(sizeof *cursor);
        uint64_t block;
        bool more;
        walk->heap[walk->count++] = cursor;
        cursor->row = timeline_row_at(walk->timeline, track, i, walk->err);
        cursor->block.number = SIZE_MAX;
        cursor->number = i;
        if (!cursor->row ||
            !block_before(walk->timeline, cursor->row, walk->from_ps, &block, walk->err))
            return false;
        cursor->next = block * BLOCK_EVENTS;
        if (!settle(walk, cursor, &more))
            return false;
        if (!more)
            mem_free(walk->heap[--walk->count]);
    }
    for (size_t i = walk->count / 2; i-- > 0;)
        sift_down(walk, i);
    return true;
}

static void close_last(struct walk *walk)
{
    const struct open_event *open = &walk->open.items[--walk->open.count];
    int64_t total = sub_saturated(open->end_ps, open->start_ps);
    int64_t self = total > open->inside_ps ? total - open->inside_ps : 0;
    walk->visitor->close(walk->visitor->context, open->node, total, self);
}

/* An event may outlast the one around it: the excess is charged to the next outer one. */
static void cover(struct walk *walk, int64_t start_ps, int64_t end_ps)
{
    for (size_t i = walk->open.count; i > 0 && start_ps < end_ps; i--) {
        struct open_event *open = &walk->open.items[i - 1];
        int64_t until = end_ps < open->end_ps ? end_ps : open->end_ps;
        if (until <= start_ps)
            continue;
        open->inside_ps = add_saturated(open->inside_ps, sub_saturated(until, start_ps));
        start_ps = until;
    }
}

/* False to stop. */
static bool visit(struct walk *walk, const struct timeline_event *event)
{
    const struct timeline_visitor *visitor = walk->visitor;
    int64_t start = event->start_ps > walk->from_ps ? event->start_ps : walk->from_ps;
    int64_t end = event->end_ps < walk->to_ps ? event->end_ps : walk->to_ps;
    size_t outer = 0;
    while (walk->open.count > 0 &&
           walk->open.items[walk->open.count - 1].whole_end_ps <= event->start_ps)
        close_last(walk);
    for (size_t i = walk->open.count; i > 0 && outer == 0 && !walk->is_flat; i--)
        if (walk->open.items[i - 1].whole_end_ps >= event->end_ps)
            outer = walk->open.items[i - 1].node;
    size_t node = visitor->open(visitor->context, event, outer);
    if (node == TIMELINE_STOP)
        return false;
    if (walk->is_flat) {
        int64_t total = sub_saturated(end, start);
        visitor->close(visitor->context, node, total, total);
        return true;
    }
    cover(walk, start, end);
    /* Events inside an event that ends no later are inside this one, too. */
    while (walk->open.count > 0 &&
           walk->open.items[walk->open.count - 1].whole_end_ps <= event->end_ps)
        close_last(walk);
    *array_push(&walk->open) =
        (struct open_event){start, end, event->end_ps, .inside_ps = 0, .node = node};
    return true;
}

/* Merges the rows by time; the heap holds one cursor per row, so memory does not grow with the
 * number of events. */
static bool merge(struct walk *walk, const struct timeline_track *track)
{
    while (walk->count > 0) {
        struct cursor *first = walk->heap[0];
        size_t at = in_block(first);
        struct timeline_event event = {
            .start_ps = first->block.start_ps[at],
            .end_ps = first->block.end_ps[at],
            .id = track->first_id + block_event_number(&first->block, at),
            .name = block_event_name(&first->block, at),
        };
        bool more;
        if (!visit(walk, &event))
            return true;
        first->next++;
        if (!settle(walk, first, &more))
            return false;
        if (!more) {
            mem_free(first);
            walk->heap[0] = walk->heap[--walk->count];
        }
        sift_down(walk, 0);
    }
    while (walk->open.count > 0)
        close_last(walk);
    return true;
}

bool timeline_nest(struct timeline *timeline, uint32_t track, int64_t from_ps, int64_t to_ps,
                   bool is_flat, const struct timeline_visitor *visitor, struct error *err)
{
    if (track >= timeline->trailer.track_count || timeline->tracks[track].is_counter)
        return error_set(err, "track %u has no events that could nest", track);
    struct walk walk = {.timeline = timeline,
                        .visitor = visitor,
                        .err = err,
                        .from_ps = from_ps,
                        .to_ps = to_ps,
                        .is_flat = is_flat};
    bool ok = begin(&walk, track) && merge(&walk, &timeline->tracks[track]);
    for (size_t i = 0; i < walk.count; i++)
        mem_free(walk.heap[i]);
    mem_free(walk.heap);
    array_free(&walk.open);
    timeline_trim(timeline);
    return ok;
}
