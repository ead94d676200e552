/*
 * XPlane export, second read of the source: encodes batches into chunks of lines. Workers encode
 * concurrently into blocks of their own, so none waits; then the chunks are sorted. Large blocks
 * may be backed by files.
 */
#include "export/xplane/writer_passes.h"

enum {
    CHUNK_SIZE = 64 << 10, /* a chunk ends at this size; lines can be split between chunks */
    BLOCK_SIZE = 8 << 20,
};

struct encode_worker {
    struct output buffer; /* encoded, not yet in a block */
    xspace_chunks chunks;
    size_t flushed; /* chunks that are in blocks */
    ARRAY(char *) blocks;
    char *block; /* the current one */
    size_t used, capacity;
};

struct encoding {
    struct sink sink;
    const struct xspace *space;
    struct encode_worker *workers;
};

/* Shared by all events of a batch. */
struct event_context {
    const struct xspace *space;
    const struct xspace_plane *plane;
    const struct xspace_line *line;
    const struct batch *batch;
    uint64_t counter; /* metadata id of the counter, for formats other than XPlane; otherwise 0 */
    uint64_t value;   /* metadata id of the stat that the counter's values need; otherwise 0 */
};

static uint64_t metadata_id(const struct event_context *context, uint32_t event)
{
    uint32_t type = context->batch->type[event];
    if (context->counter != 0)
        return context->counter;
    if (type == 0)
        return (uint64_t)context->plane->type_unknown;
    if (context->space->is_copy)
        return (uint64_t)context->space->catalog->types.items[type].id;
    return idmap_get(&context->plane->types, type);
}

/* XProf reads the value of a sample from its first stat. */
static struct arg sample_arg(const struct event_context *context, uint32_t event, struct arg arg)
{
    bool is_value = context->counter != 0 && context->value == 0;
    if (is_value && arg.type != ARG_INT && arg.type != ARG_UINT)
        arg = (struct arg){
            .key = arg.key, .type = ARG_DOUBLE, .number = context->batch->value[event]};
    return arg;
}

/*
 * Writes a varint; `at` must have room for 8 bytes, or 10 if the value needs them. Branchless in
 * the length: the inverse of pb_varint_word.
 */
static inline char *put_varint(char *at, uint64_t value)
{
    if (value >> 56 != 0) {
        for (; value >= 0x80; value >>= 7)
            *at++ = (char)(value | 0x80);
        *at++ = (char)value;
        return at;
    }
    unsigned size = (bits_needed(value | 1) * 9 + 64) / 64; /* 7 bits per byte, rounded up */
    uint64_t word = (value & 0x000000000FFFFFFFu) | (value & 0x00FFFFFFF0000000u) << 4;
    word = (word & 0x00003FFF00003FFFu) | (word & 0x0FFFC0000FFFC000u) << 2;
    word = (word & 0x007F007F007F007Fu) | (word & 0x3F803F803F803F80u) << 1;
    word |= 0x8080808080808080u & (((uint64_t)1 << (size - 1) * 8) - 1);
    memcpy(at, &word, 8);
    return at + size;
}

enum { MAX_FAST_STAT = 40 };

/* Fast path for stats with a small metadata id that are numbers or string references, as nearly all
 * are: 4 times as fast as xspace_put_stat, to which the caller falls back if this returns false. */
static inline bool put_stat_fast(const struct event_context *context, struct output *out,
                                 uint64_t id, const struct arg *arg)
{
    static const char tags[8] = {[ARG_INT] = PB_TAG(XSTAT_INT64, PB_VARINT),
                                 [ARG_UINT] = PB_TAG(XSTAT_UINT64, PB_VARINT),
                                 [ARG_DOUBLE] = PB_TAG(XSTAT_DOUBLE, PB_FIXED64),
                                 [ARG_STRING] = PB_TAG(XSTAT_REF, PB_VARINT)};
    if (tags[arg->type] == 0 || id == 0 || id >= 0x80)
        return false;
    if (out->capacity - out->size < MAX_FAST_STAT)
        output_reserve(out, MAX_FAST_STAT);
    char *start = out->data + out->size, *at = start + 2;
    *at++ = PB_TAG(XSTAT_METADATA_ID, PB_VARINT);
    *at++ = (char)id;
    *at++ = tags[arg->type];
    uint64_t value = arg->uinteger;
    if (arg->type == ARG_STRING)
        value = xspace_stat_id(context->plane, arg->string);
    if (arg->type == ARG_DOUBLE) {
        memcpy(at, &value, 8);
        at += 8;
    } else {
        at = put_varint(at, value);
    }
    start[0] = PB_TAG(XEVENT_STATS, PB_BYTES);
    start[1] = (char)(at - start - 2);
    out->size += (size_t)(at - start);
    return true;
}

static void put_stat(const struct event_context *context, struct output *out, uint64_t id,
                     const struct arg *arg)
{
    if (!put_stat_fast(context, out, id, arg))
        xspace_put_stat(context->space, context->plane, out, XEVENT_STATS, id, arg);
}

static void put_stats(const struct event_context *context, struct output *out, uint32_t event)
{
    struct arg_list args = batch_args(context->batch, event);
    if (context->value != 0) {
        struct arg value = {.type = ARG_DOUBLE, .number = context->batch->value[event]};
        put_stat(context, out, context->value, &value);
    }
    for (uint32_t i = 0; i < args.count; i++) {
        struct arg arg = args.items[i];
        if (i == 0)
            arg = sample_arg(context, event, arg);
        uint64_t id = arg.key == context->space->key_unknown
                          ? (uint64_t)context->plane->stat_unknown
                          : xspace_stat_id(context->plane, arg.key);
        put_stat(context, out, id, &arg);
    }
    if (context->space->xprof.is_needed)
        xspace_put_xprof_stats(context->space, context->plane, context->batch->type[event], &args,
                               out);
}

enum { MAX_EVENT_HEAD = 64 };

/* Writes an event except its stats; the buffer has room. */
static char *put_times(const struct event_context *context, char *at, uint32_t event)
{
    const struct batch *batch = context->batch;
    bool is_timed = !batch->has_occurrences || batch->occurrences[event] == OCCURRENCES_TIMED;
    uint64_t id = metadata_id(context, event);
    if (id != 0) {
        *at++ = PB_TAG(XEVENT_METADATA_ID, PB_VARINT);
        at = put_varint(at, id);
    }
    *at++ =
        is_timed ? PB_TAG(XEVENT_OFFSET_PS, PB_VARINT) : PB_TAG(XEVENT_NUM_OCCURRENCES, PB_VARINT);
    at = put_varint(at, is_timed
                            ? (uint64_t)batch->start_ps[event] - (uint64_t)context->line->zero_ps
                            : (uint64_t)batch->occurrences[event]);
    if (batch->duration_ps[event] != 0) {
        *at++ = PB_TAG(XEVENT_DURATION_PS, PB_VARINT);
        at = put_varint(at, (uint64_t)batch->duration_ps[event]);
    }
    return at;
}

static void put_event(const struct event_context *context, struct output *out, uint32_t event)
{
    size_t mark = pb_begin(out, XLINE_EVENTS);
    if (out->capacity - out->size < MAX_EVENT_HEAD)
        output_reserve(out, MAX_EVENT_HEAD);
    out->size = (size_t)(put_times(context, out->data + out->size, event) - out->data);
    put_stats(context, out, event);
    pb_end(out, mark);
}

/* Copies data into the worker's blocks. */
static const char *copy_to_block(struct encode_worker *worker, const char *data, size_t size)
{
    if (size > worker->capacity - worker->used) {
        worker->capacity = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        worker->block = mem_alloc(worker->capacity);
        worker->used = 0;
        *array_push(&worker->blocks) = worker->block;
    }
    char *context = worker->block + worker->used;
    mem_write(worker->block, context, data, size);
    mem_touched(size);
    worker->used += size;
    return context;
}

/* Moves the encoded chunks into blocks; until then a chunk only has its size. */
static void flush_chunks(struct encode_worker *worker)
{
    const char *data = copy_to_block(worker, worker->buffer.data, worker->buffer.size);
    for (; worker->flushed < worker->chunks.count; worker->flushed++) {
        struct xspace_chunk *chunk = &worker->chunks.items[worker->flushed];
        chunk->data = data;
        data += chunk->size;
    }
    worker->buffer.size = 0;
}

static void add_chunk(struct encode_worker *worker, const struct event_context *context,
                      uint32_t first_event, size_t size)
{
    const struct batch *batch = context->batch;
    struct xspace_chunk *chunk = array_push(&worker->chunks);
    *chunk = (struct xspace_chunk){.line = context->space->line_of[batch->track],
                                   .lane = batch->track,
                                   .number = batch->first + first_event,
                                   .size = size};
    chunk->order = context->line->by_time ? batch->start_ps[first_event] : (int64_t)chunk->number;
    if (context->line->by_time && !context->line->is_counter) /* enclosing events first: longer */
        chunk->tie = sub_saturated(0, batch->duration_ps[first_event]);
}

/* Called by several workers, which never wait for each other: chunks are put in order afterward. In
 * lines ordered by time each event is a chunk of its own. */
static bool take_batch(struct sink *base, const struct batch *batch, unsigned number,
                       struct error *err)
{
    (void)err;
    const struct encoding *encoding = (const struct encoding *)base;
    const struct xspace *space = encoding->space;
    struct encode_worker *worker = &encoding->workers[number];
    const struct xspace_line *line = &space->lines.items[space->line_of[batch->track]];
    struct event_context context = {
        .space = space, .line = line, .plane = &space->planes.items[line->plane], .batch = batch};
    if (line->is_counter && !space->is_copy)
        context.counter = idmap_get(&context.plane->types, xspace_counter(batch->track));
    if (space->lacks_value[batch->track])
        context.value = xspace_stat_id(context.plane, space->key_value);
    size_t start = 0;
    for (uint32_t event = 0, first = 0; event < batch->count; event++) {
        put_event(&context, &worker->buffer, event);
        bool is_full = worker->buffer.size >= CHUNK_SIZE || event + 1 == batch->count;
        if (!is_full && !line->by_time)
            continue;
        add_chunk(worker, &context, first, worker->buffer.size - start);
        first = event + 1;
        start = worker->buffer.size;
        if (is_full) {
            flush_chunks(worker);
            start = 0;
        }
    }
    return true;
}

static bool chunk_before(const void *left, const void *right, const void *context)
{
    (void)context;
    const struct xspace_chunk *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line;
    if (a->order != b->order)
        return a->order < b->order;
    if (a->tie != b->tie)
        return a->tie < b->tie;
    return a->lane != b->lane ? a->lane < b->lane : a->number < b->number;
}

static bool rank_before(const void *left, const void *right, const void *context)
{
    const int64_t *first_ps = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return first_ps[a] != first_ps[b] ? first_ps[a] < first_ps[b] : a < b;
}

/* Samples of one time are ordered by the first appearance of their counter: the order of the lanes
 * an importer would create from the line. */
static void rank_counters(struct xspace *space)
{
    size_t tracks = space->catalog->tracks.count;
    int64_t *first_ps = mem_alloc(tracks * sizeof *first_ps);
    uint32_t *lanes = mem_alloc(tracks * sizeof *lanes);
    int64_t *ranks = mem_alloc(tracks * sizeof *ranks);
    for (uint32_t i = 0; i < tracks; i++) {
        first_ps[i] = INT64_MAX;
        lanes[i] = i;
    }
    for (size_t i = 0; i < space->chunks.count; i++) {
        const struct xspace_chunk *chunk = xspace_chunk_at(space, i);
        if (chunk->order < first_ps[chunk->lane])
            first_ps[chunk->lane] = chunk->order;
    }
    sort_items(lanes, tracks, sizeof *lanes, rank_before, first_ps);
    for (size_t i = 0; i < tracks; i++)
        ranks[lanes[i]] = (int64_t)i;
    for (size_t i = 0; i < space->chunks.count; i++) {
        struct xspace_chunk *chunk = xspace_chunk_at(space, i);
        if (space->lines.items[chunk->line].is_counter)
            chunk->tie = ranks[chunk->lane];
    }
    mem_free(first_ps);
    mem_free(lanes);
    mem_free(ranks);
}

static void order_chunks(struct xspace *space)
{
    rank_counters(space);
    sort_items(space->chunks.items, space->chunks.count, sizeof *space->chunks.items, chunk_before,
               NULL);
    size_t next = 0;
    for (uint32_t i = 0; i < space->lines.count; i++) {
        struct xspace_line *line = &space->lines.items[i];
        line->first_chunk = next;
        for (; next < space->chunks.count && xspace_chunk_at(space, next)->line == i; next++)
            line->chunk_bytes += space->chunks.items[next].size;
        line->end_chunk = next;
    }
}

static void collect_chunks(struct xspace *space, struct encode_worker *worker)
{
    size_t count = space->chunks.count;
    if (count == 0) { /* often only one worker has chunks: no copy */
        array_free(&space->chunks);
        space->chunks = worker->chunks;
        worker->chunks = (xspace_chunks){0};
    } else {
        array_reserve(&space->chunks, count + worker->chunks.count);
        space->chunks.count += worker->chunks.count;
        for (size_t i = 0; i < worker->chunks.count; i++)
            *xspace_chunk_at(space, count + i) = worker->chunks.items[i];
    }
    char **block;
    array_each (block, &worker->blocks)
        *array_push(&space->blocks) = *block;
    array_free(&worker->chunks);
    array_free(&worker->blocks);
    output_discard(&worker->buffer);
}

bool xspace_encode(struct xspace *space, struct pool *pool, struct error *err)
{
    unsigned workers = pool_workers(pool);
    struct encoding encoding = {.sink = {.batch = take_batch}, .space = space};
    encoding.workers = mem_zeroed(workers, sizeof *encoding.workers);
    for (unsigned i = 0; i < workers; i++)
        output_memory(&encoding.workers[i].buffer);
    bool ok = source_read(space->source, &encoding.sink, pool, err);
    for (unsigned i = 0; i < workers; i++)
        collect_chunks(space, &encoding.workers[i]);
    mem_free(encoding.workers);
    if (ok) {
        xspace_guest_add_events(space);
        order_chunks(space);
    }
    return ok;
}
