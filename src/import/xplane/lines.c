/*
 * XPlane, first pass, lines: counts events and splits lines into chunks that fit a batch, skipping
 * event bodies. Lines are scanned in parallel and become lanes of the catalog in order.
 */
#include "import/xplane/xplane_passes.h"

enum {
    CHUNK_EVENTS = 2048, /* a batch of these with its args stays in the L2 cache */
    RELEASE_SIZE = 8 << 20,
};
static_assert((int)CHUNK_EVENTS <= (int)BATCH_EVENTS, "a chunk fits a batch");

/* "Stream #7(Compute)" and "Stream #7" are streams; "Stream #7 flows", which Kymo writes for
 * captures of other formats, is not. */
static enum lane_role role_of_stream(struct text name)
{
    const char *blank = memchr(name.data + sizeof "Stream", ' ', name.size - sizeof "Stream");
    const char *bracket = memchr(name.data, '(', name.size);
    return blank && (!bracket || blank < bracket) ? LANE_ASIDE : LANE_STREAM;
}

static enum lane_role role_of_line(struct text name)
{
    static const struct {
        struct text name;
        enum lane_role role;
    } known[] = {
        {{"XLA Ops", 7}, LANE_OPS},          {{"Sparse Core Ops", 15}, LANE_OPS},
        {{"XLA Modules", 11}, LANE_MODULES}, {{"Sparse Core Modules", 19}, LANE_MODULES},
        {{"Steps", 5}, LANE_STEPS},          {{"Sparse Core Steps", 17}, LANE_STEPS},
        {{"Async XLA Ops", 13}, LANE_ASYNC}, {{"_counters_", 10}, LANE_COUNTER},
    };
    if (text_starts(name, TEXT("Stream #")))
        return role_of_stream(name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_equal(name, known[i].name))
            return known[i].role;
    return LANE_PLAIN;
}

static void add_line_args(struct catalog *catalog, const struct xplane_line *line,
                          struct track *track)
{
    arg_buffer args = {0};
    if (line->timestamp_ns != 0)
        *array_push(&args) = catalog_int_arg(catalog, TEXT("timestamp_ns"), line->timestamp_ns);
    if (line->duration_ps != 0)
        *array_push(&args) = catalog_int_arg(catalog, TEXT("duration_ps"), line->duration_ps);
    if (line->display_id != 0)
        *array_push(&args) =
            catalog_int_arg(catalog, TEXT("display_id"), (int64_t)line->display_id);
    track->args = catalog_keep_args(catalog, args.items, args.count);
    array_free(&args);
}

static struct track *add_lane(struct catalog *catalog, const struct xplane_plane *plane,
                              const struct xplane_line *line, int64_t sort_key)
{
    struct track *track = catalog_add_track(catalog, plane->track, TRACK_LANE);
    track->name = catalog_string(catalog, line->name);
    if (!text_equal(line->display_name, line->name))
        track->display_name = catalog_string(catalog, line->display_name);
    track->lane = role_of_line(line->name);
    track->core = text_starts(line->name, TEXT("Sparse Core"));
    track->id = (int64_t)line->id;
    track->sort_key = sort_key;
    add_line_args(catalog, line, track);
    return track;
}

static void add_line(struct xplane_source *source, const struct xplane_line *line, int64_t sort_key)
{
    struct catalog *catalog = &source->source.catalog;
    struct track *track = add_lane(catalog, &source->planes.items[line->plane], line, sort_key);
    uint32_t number = (uint32_t)(track - catalog->tracks.items);
    track->events = line->events;
    struct xplane_chunk *chunk;
    array_each (chunk, &line->chunks) {
        chunk->track = number;
        *array_push(&source->chunks) = *chunk;
    }
}

/* One sample, and the chunk of the counter it belongs to. */
struct sample {
    const uint8_t *field;
    uint32_t chunk;
};

typedef ARRAY(struct sample) sample_list;

static bool read_event_id(const struct pb_field *field, uint64_t *id, struct pb_reader *failed)
{
    struct pb_reader event = pb_enter(field);
    struct pb_field inner;
    *id = 0;
    while (pb_next(&event, &inner))
        if (inner.tag == XEVENT_METADATA_ID)
            *id = inner.value;
    *failed = event;
    return event.problem == NULL;
}

static uint32_t add_counter(struct xplane_source *source, const struct xplane_line *line,
                            int64_t sort_key, uint64_t id)
{
    struct catalog *catalog = &source->source.catalog;
    const struct xplane_plane *plane = &source->planes.items[line->plane];
    uint32_t type = idmap_get(&plane->types, id);
    struct track *track = add_lane(catalog, plane, line, sort_key);
    if (type != IDMAP_NONE)
        track->display_name = catalog->types.items[type].name;
    *array_push(&source->chunks) =
        (struct xplane_chunk){.data = line->data,
                              .size = line->size,
                              .plane = line->plane,
                              .track = (uint32_t)(track - catalog->tracks.items),
                              .stamp_ns = line->timestamp_ns};
    return (uint32_t)(source->chunks.count - 1);
}

/* Sets the sample positions of each counter's chunk. */
static void share_out_samples(struct xplane_source *source, size_t first_chunk,
                              const sample_list *samples)
{
    struct catalog *catalog = &source->source.catalog;
    for (size_t i = first_chunk; i < source->chunks.count; i++) {
        struct xplane_chunk *chunk = &source->chunks.items[i];
        chunk->events = arena_alloc(&catalog->arena, chunk->count * sizeof *chunk->events);
        catalog->tracks.items[chunk->track].events = chunk->count;
        chunk->count = 0;
    }
    const struct sample *sample;
    array_each (sample, samples) {
        struct xplane_chunk *chunk = &source->chunks.items[sample->chunk];
        chunk->events[chunk->count++] = sample->field;
    }
}

/* A counter line mixes the samples of many counters; each gets its own lane. */
static bool add_counters(struct xplane_source *source, const struct xplane_line *line,
                         int64_t sort_key, struct pb_reader *failed)
{
    struct idmap chunks = {0}; /* metadata id -> chunk */
    sample_list samples = {0};
    size_t first_chunk = source->chunks.count;
    struct pb_reader in = pb_read(line->data, line->size);
    struct pb_field field;
    struct error ignored;
    bool ok = true;
    for (const uint8_t *start = in.at; ok && pb_next(&in, &field); start = in.at) {
        uint64_t id;
        if (field.tag != XLINE_EVENTS)
            continue;
        ok = read_event_id(&field, &id, failed);
        uint32_t chunk = idmap_get(&chunks, id);
        if (chunk == IDMAP_NONE) {
            chunk = add_counter(source, line, sort_key, id);
            idmap_put(&chunks, id, chunk);
            ok = ok && xplane_is_within(source, "", &ignored);
        }
        source->chunks.items[chunk].count++;
        *array_push(&samples) = (struct sample){.field = start, .chunk = chunk};
    }
    if (ok)
        share_out_samples(source, first_chunk, &samples);
    idmap_free(&chunks);
    array_free(&samples);
    return ok; /* the line's own fields were validated before */
}

/* All fields but the events; unknown ones are skipped. Names point into the file. */
static void read_line_field(struct xplane_line *line, const struct pb_field *field)
{
    switch (field->tag) {
    case XLINE_ID:
        line->id = field->value;
        break;
    case XLINE_NAME:
        line->name = pb_text(field);
        break;
    case XLINE_TIMESTAMP_NS:
        line->timestamp_ns = (int64_t)field->value;
        break;
    case XLINE_DURATION_PS:
        line->duration_ps = (int64_t)field->value;
        break;
    case XLINE_DISPLAY_ID:
        line->display_id = field->value;
        break;
    case XLINE_DISPLAY_NAME:
        line->display_name = pb_text(field);
        break;
    default:
        break;
    }
}

struct line_walk {
    const struct file *file;
    struct xplane_line *lines;
};

/* Scans one line's fields, counting its events and splitting it into chunks. Scanned pages are
 * released in pieces, so that a long line does not fill memory. */
static bool walk_line(void *context, size_t index, unsigned worker)
{
    (void)worker;
    const struct line_walk *walk = context;
    struct xplane_line *line = &walk->lines[index];
    struct pb_reader in = pb_read(line->data, line->size);
    struct pb_field field;
    struct xplane_chunk *chunk = NULL;
    const uint8_t *held = in.at;
    for (const uint8_t *start = in.at; pb_next(&in, &field); start = in.at) {
        if (field.tag != XLINE_EVENTS) {
            read_line_field(line, &field);
            continue;
        }
        if (!chunk || chunk->count == CHUNK_EVENTS) {
            chunk = array_push(&line->chunks);
            *chunk =
                (struct xplane_chunk){.data = start, .plane = line->plane, .first = line->events};
        }
        chunk->count++;
        chunk->size = (size_t)(in.at - chunk->data);
        line->events++;
        if (in.at - held > RELEASE_SIZE) {
            file_release(walk->file, held, (size_t)(in.at - held));
            mem_touched(
                (size_t)(in.at - held)); /* decompressed data is not in the file's mapping */
            held = in.at;
        }
    }
    mem_touched((size_t)(in.at - held));
    for (size_t i = 0; i < line->chunks.count; i++)
        line->chunks.items[i].stamp_ns = line->timestamp_ns;
    line->problem = in;
    return in.problem == NULL;
}

bool xplane_lines(struct xplane_source *source, uint32_t file, struct pool *pool,
                  struct pb_reader *failed)
{
    size_t count = source->lines.count - source->laid_out;
    if (count == 0)
        return true;
    struct xplane_line *lines = source->lines.items + source->laid_out;
    struct line_walk walk = {.file = &source->files.items[file].map, .lines = lines};
    pool_run(pool, count, walk_line, &walk);
    for (size_t i = 0; i < count; i++) {
        if (lines[i].problem.problem) {
            *failed = lines[i].problem;
            return false;
        }
        source->laid_out++;
        if (role_of_line(lines[i].name) != LANE_COUNTER)
            add_line(source, &lines[i], (int64_t)i);
        else if (!add_counters(source, &lines[i], (int64_t)i, failed))
            return false;
    }
    return true;
}
