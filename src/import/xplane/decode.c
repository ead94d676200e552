/*
 * XPlane, second pass: events into batches. Chunks are decoded in parallel; this loop sees every
 * byte of the file's events once and allocates nothing.
 */
#include "import/xplane/passes.h"

struct decoding {
    struct xplane_source *source;
    struct batch *batches; /* one a worker */
};

bool xplane_damaged(const struct xplane_file *file, const uint8_t *at, const char *problem,
                    struct error *err)
{
    const char *advice = file->unpacked ? " (after unpacking)" : "";
    return error_at(err, file->path, (uint64_t)(at - file->data), "is damaged or cut off%s: %s",
                    advice, problem);
}

bool xplane_stat(const struct xplane_plane *plane, struct pb_reader *in, uint64_t *metadata_id,
                 struct arg *arg)
{
    uint64_t id = 0, value = 0;
    uint32_t type = ARG_NONE, size = 0;
    struct pb_field field;
    while (pb_next(in, &field)) {
        value = field.value;
        switch (field.tag) {
        case XSTAT_METADATA_ID:
            id = value;
            continue;
        case XSTAT_DOUBLE:
            type = ARG_DOUBLE;
            break;
        case XSTAT_UINT64:
            type = ARG_UINT;
            break;
        case XSTAT_INT64:
            type = ARG_INT;
            break;
        case XSTAT_STR:
        case XSTAT_BYTES:
            if (field.value > ARG_LARGEST)
                return pb_fail(in, "a stat is larger than 512 MiB");
            type = field.tag == XSTAT_STR ? ARG_TEXT : ARG_BYTES;
            size = (uint32_t)field.value;
            value = (uint64_t)(uintptr_t)field.bytes;
            break;
        case XSTAT_REF: {
            uint32_t string = idmap_get(&plane->strings, value);
            type = string == IDMAP_NONE ? ARG_UINT : ARG_STRING;
            value = string == IDMAP_NONE ? value : string;
            break;
        }
        default:
            continue;
        }
        arg->uinteger = value;
    }
    uint32_t key = idmap_get(&plane->strings, id);
    arg_put(arg, key == IDMAP_NONE ? plane->key_unknown : key, type, size,
            type == ARG_NONE ? 0 : arg->uinteger);
    *metadata_id = id;
    return in->problem == NULL;
}

/* Room for the args of a usual event is made up front, eight times its size. */
enum { LARGEST_USUAL_EVENT = 64 << 10 };

struct event {
    uint64_t metadata_id;
    int64_t offset_ps, duration_ps, occurrences;
};

/* Reads an XEvent of any shape; its stats are written behind the batch's args. */
static bool read_event(const struct xplane_plane *plane, struct pb_reader *in, struct batch *batch,
                       struct event *event)
{
    struct pb_field field;
    uint64_t ignored;
    *event = (struct event){.occurrences = OCCURRENCES_TIMED};
    while (pb_next(in, &field)) {
        switch (field.tag) {
        case XEVENT_METADATA_ID:
            event->metadata_id = field.value;
            break;
        case XEVENT_OFFSET_PS:
            event->offset_ps = (int64_t)field.value;
            event->occurrences = OCCURRENCES_TIMED;
            break;
        case XEVENT_DURATION_PS:
            event->duration_ps = (int64_t)field.value;
            break;
        case XEVENT_NUM_OCCURRENCES:
            event->offset_ps = 0;
            event->occurrences = (int64_t)field.value < 0 ? 0 : (int64_t)field.value;
            break;
        case XEVENT_STATS: {
            struct pb_reader stat = pb_enter(&field);
            if (!xplane_stat(plane, &stat, &ignored, array_push(&batch->args))) {
                in->at = stat.at;
                return pb_fail(in, stat.problem);
            }
            break;
        }
        default:
            break;
        }
    }
    return in->problem == NULL;
}

/*
 * The shape nearly all stats have: a metadata id below 128, then one value that ends where the stat
 * does. False leaves it to xplane_stat. Up to eight bytes behind `end` may be loaded.
 */
static inline bool read_usual_stat(const struct xplane_plane *plane, const uint8_t *at,
                                   const uint8_t *end, struct arg *arg)
{
    uint64_t value = 0;
    if (end - at < 4 || at[0] != XSTAT_METADATA_ID || at[1] >= USUAL_KEYS)
        return false;
    uint32_t key = plane->usual_keys[at[1]];
    uint8_t tag = at[2];
    at += 3;
    switch (tag) {
    case XSTAT_INT64:
    case XSTAT_UINT64:
        if (at + pb_varint_word(at, &value) != end)
            return false;
        arg_put(arg, key, tag == XSTAT_INT64 ? ARG_INT : ARG_UINT, 0, value);
        return true;
    case XSTAT_REF:
        if (at + pb_varint_word(at, &value) != end || value >= plane->strings.table.count ||
            plane->strings.table.items[value] == IDMAP_NONE)
            return false;
        arg_put(arg, key, ARG_STRING, 0, plane->strings.table.items[value]);
        return true;
    case XSTAT_DOUBLE:
        if (end - at != 8)
            return false;
        memcpy(&value, at, 8);
        arg_put(arg, key, ARG_DOUBLE, 0, value);
        return true;
    case XSTAT_STR:
        if (at[0] >= 0x80 || at + 1 + at[0] != end)
            return false;
        arg_put(arg, key, ARG_TEXT, at[0], (uint64_t)(uintptr_t)(at + 1));
        return true;
    default:
        return false;
    }
}

static inline bool read_usual_number(const uint8_t **at, const uint8_t *end, uint8_t tag,
                                     uint64_t *value)
{
    if (*at == end || **at != tag)
        return true; /* zero, and so not written */
    unsigned size = pb_varint_word(*at + 1, value);
    *at += 1 + size;
    return size > 0 && *at <= end;
}

/*
 * The shape nearly all events have: fields in rising order, no count of occurrences, usual stats.
 * This and read_usual_stat decode at three times the speed of read_event, which takes over where
 * they return false. Up to eight bytes behind `end` may be loaded.
 */
static bool read_usual_event(const struct xplane_plane *plane, const uint8_t *at,
                             const uint8_t *end, struct batch *batch, struct event *event)
{
    uint64_t id = 0, offset = 0, duration = 0;
    if (!read_usual_number(&at, end, XEVENT_METADATA_ID, &id) ||
        !read_usual_number(&at, end, XEVENT_OFFSET_PS, &offset) ||
        !read_usual_number(&at, end, XEVENT_DURATION_PS, &duration))
        return false;
    /* A stat takes two bytes at least: room for all there can be, so that none has to ask. */
    array_reserve(&batch->args, batch->args.count + (size_t)(end - at) / 2);
    struct arg *arg = batch->args.items + batch->args.count;
    while (end - at >= 2 && at[0] == XEVENT_STATS) {
        size_t size = at[1];
        at += 2;
        if (size >= 0x80 || size > (size_t)(end - at) ||
            !read_usual_stat(plane, at, at + size, arg++))
            return false;
        at += size;
    }
    if (at != end)
        return false;
    batch->args.count = (size_t)(arg - batch->args.items);
    *event = (struct event){id, (int64_t)offset, (int64_t)duration, OCCURRENCES_TIMED};
    return true;
}

struct chunk_reader {
    struct pb_reader in;
    const struct xplane_chunk *chunk;
    const struct xplane_plane *plane;
    const struct xplane_file *file;
    struct batch *batch;
};

/* The next event of the chunk, of which `done` were read; false at a problem. */
static bool next_event(struct chunk_reader *reader, uint64_t done, struct pb_field *field)
{
    if (reader->chunk->events)
        reader->in.at = reader->chunk->events[done];
    while (pb_next(&reader->in, field))
        if (field->tag == XLINE_EVENTS)
            return true;
    return false;
}

static bool add_event(const struct chunk_reader *reader, const struct pb_field *field,
                      struct error *err)
{
    struct batch *batch = reader->batch;
    struct pb_reader in = pb_enter(field);
    struct event event;
    size_t args_before = batch->args.count;
    bool loadable = reader->file->data + reader->file->size - in.end >= 8 &&
                    field->value <= LARGEST_USUAL_EVENT;
    if (!(loadable && read_usual_event(reader->plane, in.at, in.end, batch, &event)) &&
        !read_event(reader->plane, &in, batch, &event))
        return xplane_damaged(reader->file, in.at, in.problem, err);
    int64_t start, end;
    if (__builtin_add_overflow(reader->chunk->base_ps, event.offset_ps, &start) ||
        __builtin_add_overflow(start, event.duration_ps, &end))
        return xplane_damaged(reader->file, field->bytes, "an event's time is out of range", err);
    uint32_t at = batch->count++;
    uint32_t type = idmap_get(&reader->plane->types, event.metadata_id);
    batch->start_ps[at] = start;
    batch->duration_ps[at] = event.duration_ps;
    batch->type[at] = type == IDMAP_NONE ? 0 : type;
    batch->arg_end[at] = (uint32_t)batch->args.count;
    if (event.occurrences != OCCURRENCES_TIMED)
        batch_set_occurrences(batch, at, event.occurrences);
    else if (batch->has_occurrences)
        batch->occurrences[at] = OCCURRENCES_TIMED;
    if (batch->has_values)
        batch->value[at] =
            batch->args.count > args_before ? arg_number(&batch->args.items[args_before]) : 0;
    return true;
}

/* Empties the batch for the events that follow those it held. */
static void batch_go_on(struct batch *batch)
{
    batch->first += batch->count;
    batch->count = 0;
    batch->args.count = 0;
    batch->has_occurrences = false;
}

static bool read_chunk(void *context, const struct part *part, struct error *err)
{
    struct decoding *decoding = context;
    const struct xplane_source *source = decoding->source;
    const struct xplane_chunk *chunk = &source->chunks.items[part->number];
    const struct xplane_plane *plane = &source->planes.items[chunk->plane];
    struct batch *batch = &decoding->batches[part->worker];
    struct chunk_reader reader = {.in = pb_read(chunk->data, chunk->size),
                                  .chunk = chunk,
                                  .plane = plane,
                                  .file = &source->files.items[plane->file],
                                  .batch = batch};
    bool is_counter = source->source.catalog.tracks.items[chunk->track].lane == LANE_COUNTER;
    batch_go_on(batch);
    batch->track = chunk->track;
    batch->first = chunk->first;
    batch->sequence = part->sequence;
    batch->has_values = is_counter;

    bool ok = true;
    uint64_t done = 0;
    struct pb_field field;
    while (ok && done < chunk->count && next_event(&reader, done, &field)) {
        ok = add_event(&reader, &field, err);
        done++;
        if (ok && (batch->count == BATCH_EVENTS || done == chunk->count)) {
            batch->last = part->is_last && done == chunk->count;
            ok = part->sink->batch(part->sink, batch, part->worker, err);
            batch_go_on(batch);
        }
    }
    if (ok && done < chunk->count)
        ok = xplane_damaged(reader.file, reader.in.at, "it changed while it was read", err);
    if (ok && !chunk->events)
        file_release(&reader.file->map, chunk->data, chunk->size);
    mem_touched(chunk->size);
    return ok;
}

bool xplane_decode(struct source *base, struct sink *sink, struct pool *pool, struct error *err)
{
    struct decoding decoding = {.source = (struct xplane_source *)base};
    unsigned workers = pool_workers(pool);
    decoding.batches = mem_alloc(workers * sizeof *decoding.batches);
    for (unsigned i = 0; i < workers; i++)
        batch_init(&decoding.batches[i]);
    bool ok =
        parts_read(base, decoding.source->chunks.count, read_chunk, &decoding, sink, pool, err);
    for (unsigned i = 0; i < workers; i++)
        batch_free(&decoding.batches[i]);
    mem_free(decoding.batches);
    return ok;
}
