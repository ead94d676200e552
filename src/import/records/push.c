/*
 * Collects events of any lane in any order, sorts them by lane and pushes them as batches.
 */
#include "import/records/records.h"

enum {
    MAX_ARGS = 256 << 10, /* pending args; when exceeded, events are flushed however few they are */
    MAX_TEXT = 8 << 20,
};

void pusher_begin(struct pusher *pusher, const struct catalog *catalog, const uint64_t *expected,
                  struct sink *sink)
{
    *pusher = (struct pusher){.catalog = catalog, .expected = expected, .sink = sink};
    pusher->next = mem_zeroed(catalog->tracks.count, sizeof *pusher->next);
    pusher->count = mem_zeroed(catalog->tracks.count, sizeof *pusher->count);
    pusher->order = mem_alloc(BATCH_EVENTS * sizeof *pusher->order);
    array_reserve(&pusher->events, BATCH_EVENTS);
    batch_init(&pusher->batch);
}

bool pusher_arg(struct pusher *pusher, uint32_t key, const struct json_value *value)
{
    struct text text = value->text;
    struct arg *arg = array_push(&pusher->args);
    struct json_number number;
    if (text.size > ARG_LARGEST) {
        arg_put(arg, key, ARG_TEXT, 0, 0);
        return false;
    }
    if (value->kind == JSON_STRING && value->has_escapes) {
        char *resolved = arena_alloc(&pusher->texts, text.size);
        text = (struct text){resolved, json_unescape(text, resolved)};
    }
    if (value->kind == JSON_NUMBER && value_number(value, &number))
        *arg = number_arg(key, &number);
    else if (value->kind == JSON_NULL)
        arg_put(arg, key, ARG_NONE, 0, 0);
    else
        arg_put(arg, key, value->kind == JSON_STRING ? ARG_TEXT : ARG_JSON, (uint32_t)text.size,
                (uint64_t)(uintptr_t)text.data);
    return true;
}

/* Sorts the pending events by track, preserving their order within a track. */
static void order_events(struct pusher *pusher)
{
    uint32_t at = 0;
    const uint32_t *track;
    array_each (track, &pusher->tracks) {
        uint32_t count = pusher->count[*track];
        pusher->count[*track] = at;
        at += count;
    }
    for (uint32_t i = 0; i < pusher->events.count; i++)
        pusher->order[pusher->count[pusher->events.items[i].track]++] = i;
}

/* Events were added in any order of tracks; their args are in one list, of which an event's part
 * begins where that of the event added before it ends. */
static void fill_batch(struct pusher *pusher, uint32_t track, const uint32_t *events,
                       uint32_t count)
{
    struct batch *batch = &pusher->batch;
    batch->track = track;
    batch->count = count;
    batch->first = pusher->next[track];
    batch->args.count = 0;
    batch->has_occurrences = false;
    batch->has_values = pusher->catalog->tracks.items[track].lane == LANE_COUNTER;
    for (uint32_t i = 0; i < count; i++) {
        const struct push *event = &pusher->events.items[events[i]];
        uint32_t arg = events[i] ? event[-1].arg_end : 0;
        batch->start_ps[i] = event->start_ps;
        batch->duration_ps[i] = event->duration_ps;
        batch->type[i] = event->type;
        batch->value[i] = event->value;
        if (event->occurrences != OCCURRENCES_TIMED)
            batch_set_occurrences(batch, i, event->occurrences);
        for (; arg < event->arg_end; arg++)
            *array_push(&batch->args) = pusher->args.items[arg];
        batch->arg_end[i] = (uint32_t)batch->args.count;
    }
    pusher->next[track] += count;
}

/* Flushes pending events as batches, one for each track. */
static bool flush(struct pusher *pusher, bool is_end, struct error *err)
{
    uint64_t together = pusher->sink->together ? pusher->sink->together : 1;
    bool ends_group = is_end || (pusher->flushes + 1) % together == 0;
    bool ok = true;
    pusher->batch.sequence = pusher->flushes / together;
    order_events(pusher);
    uint32_t at = 0;
    for (size_t i = 0; i < pusher->tracks.count && ok; i++) {
        uint32_t track = pusher->tracks.items[i], end = pusher->count[track];
        fill_batch(pusher, track, pusher->order + at, end - at);
        pusher->batch.last = ends_group && i + 1 == pusher->tracks.count;
        ok = pusher->sink->batch(pusher->sink, &pusher->batch, 0, err);
        at = end;
    }
    const uint32_t *track;
    array_each (track, &pusher->tracks)
        pusher->count[*track] = 0;
    pusher->tracks.count = pusher->events.count = pusher->args.count = 0;
    arena_free(&pusher->texts);
    pusher->flushes++;
    return ok;
}

bool pusher_add(struct pusher *pusher, const struct push *event, struct error *err)
{
    uint32_t waiting = pusher->count[event->track];
    if (pusher->next[event->track] + waiting >= pusher->expected[event->track])
        return error_set(err, "%s", RECORD_CHANGED);
    if (waiting == 0)
        *array_push(&pusher->tracks) = event->track;
    pusher->count[event->track]++;
    struct push *added = array_push(&pusher->events);
    *added = *event;
    added->arg_end = (uint32_t)pusher->args.count;
    bool is_full = pusher->events.count == BATCH_EVENTS || pusher->args.count >= MAX_ARGS ||
                   pusher->texts.allocated_bytes >= MAX_TEXT;
    return !is_full || flush(pusher, false, err);
}

/* Ends an open sequence number when nothing is left to push. */
static bool end_sequence(struct pusher *pusher, struct error *err)
{
    uint64_t together = pusher->sink->together ? pusher->sink->together : 1;
    if (pusher->flushes % together == 0)
        return true;
    pusher->batch.count = 0;
    pusher->batch.args.count = 0;
    pusher->batch.last = true;
    return pusher->sink->batch(pusher->sink, &pusher->batch, 0, err);
}

static bool is_complete(const struct pusher *pusher)
{
    for (size_t i = 0; i < pusher->catalog->tracks.count; i++)
        if (pusher->next[i] != pusher->expected[i])
            return false;
    return true;
}

bool pusher_end(struct pusher *pusher, bool ok, struct error *err)
{
    if (ok)
        ok = pusher->events.count > 0 ? flush(pusher, true, err) : end_sequence(pusher, err);
    if (ok && !is_complete(pusher))
        ok = error_set(err, "%s", RECORD_CHANGED);
    if (!ok && pusher->sink->cancel)
        pusher->sink->cancel(pusher->sink);
    array_free(&pusher->args);
    arena_free(&pusher->texts);
    array_free(&pusher->events);
    array_free(&pusher->tracks);
    mem_free(pusher->next);
    mem_free(pusher->count);
    mem_free(pusher->order);
    batch_free(&pusher->batch);
    return ok;
}
