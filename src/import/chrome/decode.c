/*
 * Chrome trace JSON, second pass: decodes events into batches. A chunk's events belong to many
 * tracks; the number for each is known, so every event is written to its final position, and only
 * args are moved again.
 */
#include "import/chrome/chrome_passes.h"

struct columns {
    size_t capacity;
    int64_t *start_ps, *duration_ps;
    uint32_t *type;
    uint32_t *arg_begin, *arg_end; /* range in the reader's args */
    double *value;
};

struct decode_worker {
    struct chrome_reader reader;
    struct columns columns;
    ARRAY(uint32_t) next;  /* by part: index of its next event */
    ARRAY(uint32_t) limit; /* by part: end of its events */
    uint32_t *part_of_track;
    size_t next_pair;
    struct batch batch;      /* points into the columns */
    arg_buffer batch_args;   /* of all the batch's events */
    uint32_t *batch_arg_end; /* by event of the batch */
};

struct decoding {
    struct chrome_source *source;
    struct decode_worker *workers;
};

static void columns_reserve(struct columns *columns, size_t count)
{
    if (count <= columns->capacity)
        return;
    columns->capacity = count + count / 2;
    columns->start_ps = mem_resize(columns->start_ps, columns->capacity, sizeof(int64_t));
    columns->duration_ps = mem_resize(columns->duration_ps, columns->capacity, sizeof(int64_t));
    columns->type = mem_resize(columns->type, columns->capacity, sizeof(uint32_t));
    columns->arg_begin = mem_resize(columns->arg_begin, columns->capacity, sizeof(uint32_t));
    columns->arg_end = mem_resize(columns->arg_end, columns->capacity, sizeof(uint32_t));
    columns->value = mem_resize(columns->value, columns->capacity, sizeof(double));
}

static void worker_init(struct decode_worker *worker, struct chrome_source *source)
{
    *worker = (struct decode_worker){0};
    chrome_reader_init(&worker->reader, &source->tables, false);
    worker->part_of_track =
        mem_zeroed(source->source.catalog.tracks.count, sizeof *worker->part_of_track);
    worker->batch_arg_end = mem_alloc(BATCH_EVENTS * sizeof *worker->batch_arg_end);
    array_reserve(&worker->batch_args, BATCH_EVENTS);
}

static void worker_free(struct decode_worker *worker)
{
    chrome_reader_free(&worker->reader);
    mem_free(worker->columns.start_ps);
    mem_free(worker->columns.duration_ps);
    mem_free(worker->columns.type);
    mem_free(worker->columns.arg_begin);
    mem_free(worker->columns.arg_end);
    mem_free(worker->columns.value);
    array_free(&worker->next);
    array_free(&worker->limit);
    mem_free(worker->part_of_track);
    array_free(&worker->batch_args);
    mem_free(worker->batch_arg_end);
}

/* Assigns the parts of a chunk consecutive ranges in the columns. */
static void begin_chunk(struct decode_worker *worker, const struct chrome_source *source,
                        const struct chrome_chunk *chunk)
{
    const struct json_file *file = &source->files.items[chunk->file];
    size_t events = 0;
    worker->next.count = worker->limit.count = 0;
    for (size_t i = 0; i < chunk->parts; i++) {
        const struct chrome_part *part = &source->parts.items[chunk->first_part + i];
        worker->part_of_track[part->track] = (uint32_t)i;
        *array_push(&worker->next) = (uint32_t)events;
        events += part->count;
        *array_push(&worker->limit) = (uint32_t)events;
    }
    columns_reserve(&worker->columns, events);
    worker->next_pair = chunk->first_pair;
    worker->reader.in = json_read((struct text){chunk->data, chunk->size});
    worker->reader.file = chunk->file;
    worker->reader.anchor_us = file->anchor_us;
    worker->reader.last_lane = INTERN_NONE;
    worker->reader.args.count = 0;
    arena_free(&worker->reader.texts);
}

/* The index in the columns for an event of a lane; false when the file has changed. */
static bool take_slot(struct decode_worker *worker, const struct chrome_source *source,
                      const struct chrome_chunk *chunk, uint32_t lane, uint32_t *slot)
{
    if (lane == INTERN_NONE)
        return json_fail(&worker->reader.in, CHROME_CHANGED);
    uint32_t track = source->tracks.items[lane];
    uint32_t part = worker->part_of_track[track];
    if (part >= chunk->parts || source->parts.items[chunk->first_part + part].track != track ||
        worker->next.items[part] == worker->limit.items[part])
        return json_fail(&worker->reader.in, CHROME_CHANGED);
    *slot = worker->next.items[part]++;
    return true;
}

/* The id that all ends of a flow share. */
static int64_t flow_number(const struct json_value *id)
{
    int64_t number;
    if (value_whole(id, &number))
        return number;
    struct text text = id->text;
    uint64_t hex = 0;
    bool is_hex = text.size > 2 && text.size <= 18 && text_starts(text, TEXT("0x"));
    for (size_t i = 2; i < text.size && is_hex; i++) {
        char lower = (char)(text.data[i] | 0x20);
        bool is_letter = lower >= 'a' && lower <= 'f';
        is_hex = is_letter || (text.data[i] >= '0' && text.data[i] <= '9');
        hex = hex << 4 | (uint64_t)(is_letter ? lower - 'a' + 10 : text.data[i] - '0');
    }
    return (int64_t)(is_hex ? hex : hash_content(text.data, text.size, 0));
}

static void add_flow_args(struct chrome_reader *reader, const struct chrome_event *event,
                          uint32_t type)
{
    uint64_t number = (uint64_t)flow_number(&event->id);
    if (event->phase != 'f') {
        arg_put(array_push(&reader->args), CHROME_PRODUCER_TYPE, ARG_INT, 0, type);
        arg_put(array_push(&reader->args), CHROME_PRODUCER, ARG_INT, 0, number);
    }
    if (event->phase != 's') {
        arg_put(array_push(&reader->args), CHROME_CONSUMER_TYPE, ARG_INT, 0, type);
        arg_put(array_push(&reader->args), CHROME_CONSUMER, ARG_INT, 0, number);
    }
}

/* Reads the stop event of this one: its time, and its args, which are appended to the start's. */
static bool read_end(struct decode_worker *worker, const struct chrome_source *source,
                     const struct json_file *file, struct chrome_event *event, int64_t track_end)
{
    struct chrome_reader *reader = &worker->reader;
    const struct chrome_pair *pair = &source->pairs.items[worker->next_pair];
    uint64_t offset = (uint64_t)(event->start - file->data);
    if (worker->next_pair == source->pairs.count || pair->begin != offset)
        return json_fail(&reader->in, CHROME_CHANGED);
    worker->next_pair++;
    int64_t end_ps = track_end;
    if (pair->end & CHROME_OPEN) {
        int64_t last_ps = source->open_ends.items[pair->end & ~CHROME_OPEN];
        end_ps = last_ps > end_ps ? last_ps : end_ps;
    } else {
        struct json_reader here = reader->in;
        struct chrome_event end;
        mem_touched(MEM_JUMP);
        reader->in =
            json_read((struct text){file->data + pair->end, file->size - (size_t)pair->end});
        if (!chrome_read_event(reader, &end))
            return false;
        end_ps = end.time_ps;
        reader->in = here;
    }
    event->duration_ps = end_ps > event->time_ps ? end_ps - event->time_ps : 0;
    return true;
}

static void put_event(struct decode_worker *worker, const struct json_file *file,
                      const struct chrome_event *event, uint32_t slot, uint32_t type)
{
    struct columns *columns = &worker->columns;
    int64_t start = event->has_time ? add_saturated(event->time_ps, file->base_ps) : file->start_ps;
    int64_t end = add_saturated(start, event->duration_ps);
    columns->start_ps[slot] = start;
    columns->duration_ps[slot] = sub_saturated(end, start);
    columns->type[slot] = type;
    columns->arg_begin[slot] = (uint32_t)event->first_arg;
    columns->arg_end[slot] = (uint32_t)worker->reader.args.count;
}

static double sample_of(const struct arg *arg)
{
    struct text text = {(const char *)arg->data, arg->size};
    struct json_reader in = json_read(text);
    struct json_number number;
    if (arg->type == ARG_JSON)
        return text_equal(text, TEXT("true"));
    if (arg->type != ARG_TEXT)
        return arg_number(arg);
    return json_read_number(&in, &number) && in.at == in.end ? json_number_double(&number) : 0;
}

static void repeat_arg(struct chrome_reader *reader, size_t index)
{
    struct arg arg = reader->args.items[index];
    *array_push(&reader->args) = arg;
}

/* One sample for each series; other members of the event become args of the first. */
static bool put_series(struct decode_worker *worker, const struct chrome_source *source,
                       const struct chrome_chunk *chunk, struct chrome_event *event, uint32_t type)
{
    struct chrome_reader *reader = &worker->reader;
    const struct json_file *file = &source->files.items[chunk->file];
    size_t begin = event->args_begin, end = event->args_end, before = event->first_arg;
    size_t all = reader->args.count;
    for (size_t i = begin; i < end; i++) {
        uint32_t slot, lane = chrome_find_lane(reader, event, type, reader->args.items[i].key);
        if (!take_slot(worker, source, chunk, lane, &slot))
            return false;
        event->first_arg = reader->args.count;
        repeat_arg(reader, i);
        for (size_t k = before; i == begin && k < all; k++)
            if (k < begin || k >= end)
                repeat_arg(reader, k);
        put_event(worker, file, event, slot, source->types.items[type]);
        worker->columns.value[slot] = sample_of(&reader->args.items[i]);
    }
    return true;
}

/* Stops, metadata and empty items are not events of their own here: their args are dropped again.
 * An unknown type or lane means that the file changed since the first pass. */
static bool add_event(struct decode_worker *worker, const struct chrome_source *source,
                      const struct chrome_chunk *chunk, struct chrome_event *event)
{
    struct chrome_reader *reader = &worker->reader;
    const struct json_file *file = &source->files.items[chunk->file];
    if (event->is_empty || event->phase == 'M' || chrome_ends(event->phase)) {
        reader->args.count = event->first_arg;
        return true;
    }
    uint32_t type = chrome_find_type(reader, event);
    if (type == INTERN_NONE)
        return json_fail(&reader->in, CHROME_CHANGED);
    if (event->phase == 'C')
        return put_series(worker, source, chunk, event, type);
    uint32_t slot, lane = chrome_find_lane(reader, event, type, 0);
    if (!take_slot(worker, source, chunk, lane, &slot))
        return false;
    uint32_t track = source->tracks.items[lane];
    if (chrome_begins(event->phase) &&
        !read_end(worker, source, file, event, source->ends_ps.items[track]))
        return false;
    uint32_t catalog_type = source->types.items[type];
    if (event->phase == 's' || event->phase == 't' || event->phase == 'f')
        add_flow_args(reader, event, catalog_type);
    put_event(worker, file, event, slot, catalog_type);
    return true;
}

static bool read_events(struct decode_worker *worker, const struct chrome_source *source,
                        const struct chrome_chunk *chunk)
{
    struct chrome_reader *reader = &worker->reader;
    bool after_event = !chunk->is_first;
    begin_chunk(worker, source, chunk);
    while (chrome_next_event(reader, &after_event)) {
        struct chrome_event event;
        if (!chrome_read_event(reader, &event) || !add_event(worker, source, chunk, &event))
            break;
    }
    if (reader->in.problem == JSON_CUT_OFF && chunk->is_cut)
        reader->in.problem = NULL;
    for (size_t i = 0; i < chunk->parts && !reader->in.problem; i++)
        if (worker->next.items[i] != worker->limit.items[i])
            json_fail(&reader->in, CHROME_CHANGED);
    return reader->in.problem == NULL;
}

/* Moves the args of [first, first + count) to be contiguous. */
static void gather_args(struct decode_worker *worker, const struct chrome_source *source,
                        size_t first, uint32_t count)
{
    const struct columns *columns = &worker->columns;
    size_t total = 0;
    for (size_t i = first; i < first + count; i++)
        total += columns->arg_end[i] - columns->arg_begin[i];
    array_reserve(&worker->batch_args, total);
    const struct arg *args = worker->reader.args.items;
    struct arg *to = worker->batch_args.items;
    for (size_t i = 0; i < count; i++) {
        for (uint32_t k = columns->arg_begin[first + i]; k < columns->arg_end[first + i]; k++) {
            *to = args[k];
            to->key = source->strings.items[to->key];
            to++;
        }
        worker->batch_arg_end[i] = (uint32_t)(to - worker->batch_args.items);
    }
    worker->batch_args.count = total;
}

/* Pushes the events of one track. */
static bool push_events(struct decoding *decoding, const struct part *whole,
                        const struct chrome_part *part, size_t at, bool is_last, struct error *err)
{
    const struct chrome_source *source = decoding->source;
    struct decode_worker *worker = &decoding->workers[whole->worker];
    struct batch *batch = &worker->batch;
    for (uint32_t done = 0; done < part->count; done += batch->count) {
        uint32_t left = part->count - done, count = left < BATCH_EVENTS ? left : BATCH_EVENTS;
        const struct columns *columns = &worker->columns;
        gather_args(worker, source, at + done, count);
        *batch = (struct batch){
            .track = part->track,
            .count = count,
            .first = part->first + done,
            .sequence = whole->sequence,
            .last = is_last && count == left,
            .start_ps = columns->start_ps + at + done,
            .duration_ps = columns->duration_ps + at + done,
            .type = columns->type + at + done,
            .arg_end = worker->batch_arg_end,
            .args = {worker->batch_args.items, worker->batch_args.count,
                     worker->batch_args.capacity},
            .has_values = source->source.catalog.tracks.items[part->track].lane == LANE_COUNTER,
            .value = columns->value + at + done};
        if (!whole->sink->batch(whole->sink, batch, whole->worker, err))
            return false;
    }
    return true;
}

static bool read_chunk(void *context, const struct part *whole, struct error *err)
{
    struct decoding *decoding = context;
    const struct chrome_source *source = decoding->source;
    const struct chrome_chunk *chunk = &source->chunks.items[whole->number];
    const struct json_file *file = &source->files.items[chunk->file];
    struct decode_worker *worker = &decoding->workers[whole->worker];
    if (!read_events(worker, source, chunk))
        return json_damaged(file, &worker->reader.in, err);
    size_t at = 0;
    for (size_t i = 0; i < chunk->parts; i++) {
        const struct chrome_part *part = &source->parts.items[chunk->first_part + i];
        if (!push_events(decoding, whole, part, at, whole->is_last && i + 1 == chunk->parts, err))
            return false;
        at += part->count;
    }
    mem_touched(chunk->size); /* decompressed data */
    file_release(&file->map, (const uint8_t *)chunk->data, chunk->size);
    return true;
}

bool chrome_decode(struct source *base, struct sink *sink, struct pool *pool, struct error *err)
{
    struct decoding decoding = {.source = (struct chrome_source *)base};
    unsigned workers = pool_workers(pool);
    decoding.workers = mem_alloc(workers * sizeof *decoding.workers);
    for (unsigned i = 0; i < workers; i++)
        worker_init(&decoding.workers[i], decoding.source);
    bool ok =
        parts_read(base, decoding.source->chunks.count, read_chunk, &decoding, sink, pool, err);
    for (unsigned i = 0; i < workers; i++)
        worker_free(&decoding.workers[i]);
    mem_free(decoding.workers);
    return ok;
}
