/*
 * XPlane, second pass: decodes events into batches. Chunks are decoded in parallel; this loop reads
 * every byte of the events once and does not allocate.
 */
#include "import/xplane/xplane_passes.h"

struct decoding {
    struct xplane_source *source;
    struct batch *batches; /* one per worker */
};

bool xplane_damaged(const struct xplane_file *file, const uint8_t *at, const char *problem,
                    struct error *err)
{
    const char *advice = file->unpacked ? " (offset after decompression)" : "";
    return error_at(err, file->path, (uint64_t)(at - file->data), "damaged or truncated%s: %s",
                    advice, problem);
}

/* The slow path, for stats of any form. The last value counts, as in protobuf. A reference to a
 * missing name is kept as its number. */
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

/* Limit of the fast path, which reserves eight times the event's size for its args. */
enum { LARGEST_USUAL_EVENT = 64 << 10 };

enum { RELEASE_SIZE = 4 << 20 };

struct event {
    uint64_t metadata_id;
    int64_t offset_ps, duration_ps, occurrences;
};

/* Slow path: reads an XEvent of any form; its stats are appended to the batch's args. */
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
 * Fast path for stats, which covers nearly all: less than 128 bytes, a metadata id below 128, then
 * one value at the end of the stat. The first four bytes, from the tag in the event on, are
 * compared as one word: tag, size, tag, id.
 */
#define USUAL_HEAD      ((uint32_t)XEVENT_STATS | (uint32_t)XSTAT_METADATA_ID << 16)
#define USUAL_HEAD_MASK 0x80FF80FFu
enum { HEAD_SIZE = 4, TAG_AND_VALUE = 2 /* at least */ };
static_assert(USUAL_KEYS == 0x80, "an id below it has no continuation bit");

static inline bool is_varint(uint8_t tag)
{
    return tag == XSTAT_INT64 || tag == XSTAT_UINT64 || tag == XSTAT_REF;
}

/* Whether the bytes after the id have that form; does not parse the value. Up to eight bytes after
 * `end` may be loaded, here and below. */
static inline bool is_usual_value(const uint8_t *at, const uint8_t *end)
{
    uint8_t tag = *at++;
    if (is_varint(tag))
        return at + pb_varint_size(at) == end;
    if (tag == XSTAT_STR)
        return at[0] < 0x80 && at + 1 + at[0] == end;
    return tag == XSTAT_DOUBLE && end - at == 8;
}

/* Reads the value after the id; false leaves the event to read_event. */
static inline bool read_usual_value(const struct xplane_plane *plane, const uint8_t *at,
                                    const uint8_t *end, uint32_t key, struct arg *arg)
{
    uint64_t value = 0;
    uint8_t tag = *at++;
    if (is_varint(tag)) {
        if (!pb_varint_until(at, end, &value))
            return false;
        if (tag != XSTAT_REF) {
            arg_put(arg, key, tag == XSTAT_INT64 ? ARG_INT : ARG_UINT, 0, value);
            return true;
        }
        if (value >= plane->strings.table.count || plane->strings.table.items[value] == IDMAP_NONE)
            return false;
        arg_put(arg, key, ARG_STRING, 0, plane->strings.table.items[value]);
        return true;
    }
    if (tag == XSTAT_DOUBLE && end - at == 8) {
        memcpy(&value, at, 8);
        arg_put(arg, key, ARG_DOUBLE, 0, value);
        return true;
    }
    if (tag != XSTAT_STR || at[0] >= 0x80 || at + 1 + at[0] != end)
        return false;
    arg_put(arg, key, ARG_TEXT, at[0], (uint64_t)(uintptr_t)(at + 1));
    return true;
}

struct chunk_reader {
    struct pb_reader in;
    const struct xplane_chunk *chunk;
    const struct xplane_plane *plane;
    const struct xplane_file *file;
    const uint8_t *wanted; /* the sink's */
    struct batch *batch;
};

static inline bool read_usual_number(const uint8_t **at, const uint8_t *end, uint8_t tag,
                                     uint64_t *value)
{
    if (*at == end || **at != tag)
        return true; /* zero is not written */
    unsigned size = pb_varint_word(*at + 1, value);
    *at += 1 + size;
    return size > 0 && *at <= end;
}

/*
 * Fast path for events, which covers nearly all: fields in ascending order, no count of
 * occurrences, stats as above. This and read_usual_value are three times as fast as read_event,
 * which takes over where they return false. Up to eight bytes after `end` may be loaded.
 */
static bool read_usual_event(const struct chunk_reader *reader, const uint8_t *at,
                             const uint8_t *end, struct event *event)
{
    const struct xplane_plane *plane = reader->plane;
    const uint8_t *wanted = reader->wanted;
    const uint32_t *keys = plane->usual_keys;
    struct batch *batch = reader->batch;
    uint64_t id = 0, offset = 0, duration = 0;
    if (!read_usual_number(&at, end, XEVENT_METADATA_ID, &id) ||
        !read_usual_number(&at, end, XEVENT_OFFSET_PS, &offset) ||
        !read_usual_number(&at, end, XEVENT_DURATION_PS, &duration))
        return false;
    /* A stat takes at least two bytes: reserves room for the maximum, so that no push has to
     * check. */
    array_reserve(&batch->args, batch->args.count + (size_t)(end - at) / 2);
    struct arg *arg = batch->args.items + batch->args.count;
    while (end - at >= HEAD_SIZE + TAG_AND_VALUE) {
        uint32_t head;
        memcpy(&head, at, HEAD_SIZE);
        const uint8_t *value = at + HEAD_SIZE, *stat_end = at + 2 + (head >> 8 & 0x7F);
        if ((head & USUAL_HEAD_MASK) != USUAL_HEAD || stat_end > end ||
            stat_end - value < TAG_AND_VALUE)
            return false;
        uint32_t key = keys[head >> 24];
        if (wanted && !wanted[key]) {
            if (!is_usual_value(value, stat_end))
                return false;
        } else if (!read_usual_value(plane, value, stat_end, key, arg++)) {
            return false;
        }
        at = stat_end;
    }
    if (at != end)
        return false;
    batch->args.count = (size_t)(arg - batch->args.items);
    *event = (struct event){id, (int64_t)offset, (int64_t)duration, OCCURRENCES_TIMED};
    return true;
}

/* Reads the next event of the chunk, after `done`; false on error. */
static bool next_event(struct chunk_reader *reader, uint64_t done, struct pb_field *field)
{
    if (reader->chunk->events)
        reader->in.at = reader->chunk->events[done];
    while (pb_next(&reader->in, field))
        if (field->tag == XLINE_EVENTS)
            return true;
    return false;
}

/* The fast path loads whole words, so it needs eight bytes after the event; the last events of a
 * file go to the slow one. An event of an unknown type has type 0. */
static bool add_event(const struct chunk_reader *reader, const struct pb_field *field,
                      struct error *err)
{
    struct batch *batch = reader->batch;
    struct pb_reader in = pb_enter(field);
    struct event event;
    size_t args_before = batch->args.count;
    bool loadable = reader->file->data + reader->file->size - in.end >= 8 &&
                    field->value <= LARGEST_USUAL_EVENT;
    if (!(loadable && read_usual_event(reader, in.at, in.end, &event)) &&
        !read_event(reader->plane, &in, batch, &event))
        return xplane_damaged(reader->file, in.at, in.problem, err);
    int64_t start, end;
    if (__builtin_add_overflow(reader->chunk->base_ps, event.offset_ps, &start) ||
        __builtin_add_overflow(start, event.duration_ps, &end))
        return xplane_damaged(reader->file, field->bytes, "the time of an event is out of range",
                              err);
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

/* Empties the batch for the next events. */
static void batch_go_on(struct batch *batch)
{
    batch->first += batch->count;
    batch->count = 0;
    batch->args.count = 0;
    batch->has_occurrences = false;
}

/* Releases pages of the file that were read, in pieces: each call takes as long as decoding a
 * hundred events. The worker that passes the end of a piece releases it; pages that others still
 * read are loaded again. */
static void release_behind(const struct xplane_file *file, const struct xplane_chunk *chunk)
{
    if (!file->map.data || file->unpacked) /* in memory */
        return;
    size_t from = (size_t)(chunk->data - file->map.data), to = from + chunk->size;
    size_t begin = from / RELEASE_SIZE * RELEASE_SIZE, end = to / RELEASE_SIZE * RELEASE_SIZE;
    if (end > begin)
        file_release(&file->map, file->map.data + begin, end - begin);
}

/* Called by several threads, each with a batch of its own; a chunk belongs to one track. The number
 * of events is known from the first pass: fewer mean that the file changed. */
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
    /* a counter's value is its first arg, whatever the key */
    bool is_counter = source->source.catalog.tracks.items[chunk->track].lane == LANE_COUNTER;
    reader.wanted = is_counter ? NULL : part->sink->wanted;
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
        ok = xplane_damaged(reader.file, reader.in.at, "the file changed while it was being read",
                            err);
    if (ok && !chunk->events)
        release_behind(reader.file, chunk);
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
