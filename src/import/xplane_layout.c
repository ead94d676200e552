/*
 * XPlane, first pass: finds planes, lines and names, counts events, cuts lines into chunks. It
 * steps over event bodies, so it costs a fraction of reading them.
 */
#include "import/xplane.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    CHUNK_EVENTS = 2048, /* with its args, a batch of these stays in the L2 cache */
    NS_PER_SECOND = 1000000000,
    PS_PER_NS = 1000,
};
static_assert((int)CHUNK_EVENTS <= (int)BATCH_EVENTS, "a chunk fits a batch");

/* Lines stamped later than this (the year 2000) carry epoch time, not time since the start. */
static const int64_t EPOCH_TIMES_FROM_NS = 946684800LL * NS_PER_SECOND;

/* A map entry's key and value; protobuf lets either be missing. */
static bool read_map_entry(struct pb_reader *in, uint64_t *key, struct pb_reader *value)
{
    struct pb_field field;
    *key = 0;
    *value = pb_read(in->at, 0);
    while (pb_next(in, &field)) {
        if (field.tag == MAP_KEY)
            *key = field.value;
        else if (field.tag == MAP_VALUE)
            *value = pb_enter(&field);
    }
    return in->problem == NULL;
}

static bool read_stat_metadata(struct xplane_source *source, struct xplane_plane *plane,
                               struct pb_reader in, struct pb_reader *failed)
{
    struct pb_reader value;
    struct pb_field field;
    uint64_t key;
    struct text name = TEXT("");
    if (!read_map_entry(&in, &key, &value)) {
        *failed = in;
        return false;
    }
    while (pb_next(&value, &field))
        if (field.tag == XSTAT_METADATA_NAME)
            name = pb_text(&field);
    *failed = value;
    idmap_put(&plane->strings, key, catalog_string(&source->source.catalog, name));
    return value.problem == NULL;
}

static struct arg_list keep_args(struct catalog *catalog, const struct arg *args, size_t count)
{
    if (count == 0)
        return (struct arg_list){0};
    struct arg *kept = arena_alloc(&catalog->arena, count * sizeof *kept);
    memcpy(kept, args, count * sizeof *kept);
    return (struct arg_list){kept, (uint32_t)count};
}

typedef ARRAY(struct arg) arg_buffer;

static void add_int_arg(struct catalog *catalog, arg_buffer *args, struct text key, int64_t value)
{
    *array_push(args) =
        (struct arg){.key = catalog_string(catalog, key), .type = ARG_INT, .integer = value};
}

/* A stat of a plane or an event type. Its metadata may be missing on purpose: the plane of scope
 * ranges uses the id itself as data, so the id becomes the key. */
static bool read_constant_stat(struct xplane_source *source, const struct xplane_plane *plane,
                               struct pb_reader in, arg_buffer *args, struct pb_reader *failed)
{
    struct arg arg;
    uint64_t id;
    bool ok = xplane_stat(plane, &in, &id, &arg);
    *failed = in;
    if (ok && idmap_get(&plane->strings, id) == IDMAP_NONE) {
        char digits[24];
        int size = snprintf(digits, sizeof digits, "%lld", (long long)id);
        arg.key = catalog_string(&source->source.catalog, (struct text){digits, (size_t)size});
    }
    *array_push(args) = arg;
    return ok;
}

static bool read_child_ids(struct catalog *catalog, struct pb_reader in, arg_buffer *args,
                           struct pb_reader *failed)
{
    uint64_t id;
    while (in.at < in.end && pb_varint(&in, &id))
        add_int_arg(catalog, args, TEXT("child_id"), (int64_t)id);
    *failed = in;
    return in.problem == NULL;
}

static bool read_event_metadata(struct xplane_source *source, struct xplane_plane *plane,
                                struct pb_reader in, arg_buffer *args, struct pb_reader *failed)
{
    struct catalog *catalog = &source->source.catalog;
    struct pb_reader value;
    struct pb_field field;
    struct event_type type = {0};
    uint64_t key;
    args->count = 0;
    if (!read_map_entry(&in, &key, &value)) {
        *failed = in;
        return false;
    }
    while (!value.problem && pb_next(&value, &field)) {
        switch (field.tag) {
        case XEVENT_METADATA_NAME:
            type.name = catalog_string(catalog, pb_text(&field));
            break;
        case XEVENT_METADATA_DISPLAY_NAME:
            type.display_name = catalog_string(catalog, pb_text(&field));
            break;
        case XEVENT_METADATA_METADATA:
            if (field.value > ARG_LARGEST) {
                pb_fail(&value, "the metadata of an event is larger than 512 MiB");
                break;
            }
            *array_push(args) = (struct arg){.key = catalog_string(catalog, TEXT("metadata")),
                                             .type = ARG_BYTES,
                                             .size = field.value & ARG_LARGEST,
                                             .data = field.bytes};
            break;
        case XEVENT_METADATA_STATS:
            if (!read_constant_stat(source, plane, pb_enter(&field), args, failed))
                return false;
            break;
        case XEVENT_METADATA_CHILD_ID:
            add_int_arg(catalog, args, TEXT("child_id"), (int64_t)field.value);
            break;
        case XEVENT_METADATA_CHILD_IDS:
            if (!read_child_ids(catalog, pb_enter(&field), args, failed))
                return false;
            break;
        default:
            break;
        }
    }
    type.args = keep_args(catalog, args->items, args->count);
    idmap_put(&plane->types, key, (uint32_t)catalog->types.count);
    *array_push(&catalog->types) = type;
    *failed = value;
    return value.problem == NULL;
}

static enum source_role role_of_plane(struct text name)
{
    if (text_starts(name, TEXT("/device:")) || text_starts(name, TEXT("#Chip")))
        return SOURCE_DEVICE;
    if (text_starts(name, TEXT("/host:")) || text_equal(name, TEXT("Host CPUs")) ||
        text_equal(name, TEXT("Syscalls")))
        return SOURCE_HOST;
    return SOURCE_OTHER;
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
        return LANE_STREAM;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_equal(name, known[i].name))
            return known[i].role;
    return LANE_PLAIN;
}

/* The plane's own fields and its stat names, which everything else in it refers to. */
static bool read_plane_names(struct xplane_source *source, uint32_t plane_index,
                             struct pb_reader body, struct text *name, int64_t *id,
                             struct pb_reader *failed)
{
    struct xplane_plane *plane = &source->planes.items[plane_index];
    struct pb_reader in = body;
    struct pb_field field;
    while (pb_next(&in, &field)) {
        switch (field.tag) {
        case XPLANE_ID:
            *id = (int64_t)field.value;
            break;
        case XPLANE_NAME:
            *name = pb_text(&field);
            break;
        case XPLANE_STAT_METADATA:
            if (!read_stat_metadata(source, plane, pb_enter(&field), failed))
                return false;
            break;
        case XPLANE_LINES:
            *array_push(&source->lines) = (struct xplane_line){
                .data = field.bytes, .size = field.value, .plane = plane_index};
            break;
        default:
            break;
        }
    }
    for (uint64_t small = 0; small < USUAL_KEYS; small++) {
        uint32_t string = idmap_get(&plane->strings, small);
        plane->usual_keys[small] = string == IDMAP_NONE ? plane->key_unknown : string;
    }
    *failed = in;
    return in.problem == NULL;
}

static bool read_plane_types(struct xplane_source *source, struct xplane_plane *plane,
                             struct pb_reader body, struct arg_list *plane_args,
                             struct pb_reader *failed)
{
    struct pb_reader in = body;
    struct pb_field field;
    arg_buffer stats = {0}, type_args = {0};
    bool ok = true;
    while (ok && pb_next(&in, &field)) {
        if (field.tag == XPLANE_EVENT_METADATA)
            ok = read_event_metadata(source, plane, pb_enter(&field), &type_args, failed);
        else if (field.tag == XPLANE_STATS)
            ok = read_constant_stat(source, plane, pb_enter(&field), &stats, failed);
    }
    if (ok) {
        *plane_args = keep_args(&source->source.catalog, stats.items, stats.count);
        *failed = in;
        ok = in.problem == NULL;
    }
    array_free(&stats);
    array_free(&type_args);
    return ok;
}

static const struct arg *plane_stat(struct catalog *catalog, const struct arg_list *args,
                                    struct text key)
{
    uint32_t string = intern_find(&catalog->strings, key);
    return string == INTERN_NONE ? NULL : arg_find(args, string);
}

static void read_programs(struct catalog *catalog, uint32_t host, size_t first_type)
{
    uint32_t key_proto = intern_find(&catalog->strings, TEXT("Hlo Proto"));
    uint32_t key_id = intern_find(&catalog->strings, TEXT("program_id"));
    if (key_proto == INTERN_NONE)
        return;
    for (size_t i = first_type; i < catalog->types.count; i++) {
        struct event_type type = catalog->types.items[i];
        const struct arg *proto = arg_find(&type.args, key_proto);
        const struct arg *number = arg_find(&type.args, key_id);
        if (!proto || proto->type != ARG_BYTES)
            continue;
        struct text label = catalog_text(catalog, type.name);
        uint64_t id = 0; /* where no stat says it, the label does: "module(id)" */
        for (size_t at = 0; !number && at < label.size; at++)
            if (label.data[at] == '(')
                id = strtoull(label.data + at + 1, NULL, 10);
        if (number)
            id = (uint64_t)arg_integer(number);
        if (!hlo_import(catalog, host, type.name, id, proto->data, proto->size)) {
            char text[256];
            int size = snprintf(text, sizeof text, "the HLO of %.*s is damaged and was left out",
                                (int)(label.size < 128 ? label.size : 128), label.data);
            *array_push(&catalog->messages) = (struct message){
                .host = host, .text = catalog_string(catalog, (struct text){text, (size_t)size})};
        }
    }
}

static bool read_plane(struct xplane_source *source, uint32_t file, uint32_t instance,
                       struct pb_reader body, struct pb_reader *failed)
{
    struct catalog *catalog = &source->source.catalog;
    uint32_t index = (uint32_t)source->planes.count;
    *array_push(&source->planes) = (struct xplane_plane){
        .file = file, .track = TRACK_NONE, .key_unknown = catalog_string(catalog, TEXT("?"))};
    struct text name = TEXT("");
    int64_t id = 0;
    size_t first_type = catalog->types.count;
    struct arg_list args;
    if (!read_plane_names(source, index, body, &name, &id, failed) ||
        !read_plane_types(source, &source->planes.items[index], body, &args, failed))
        return false;

    const struct arg *pid = plane_stat(catalog, &args, TEXT("process_id"));
    uint32_t process =
        catalog_group(catalog, instance, TRACK_PROCESS, pid ? arg_integer(pid) : 0, STRING_NONE);
    struct track *track = catalog_add_track(catalog, process, TRACK_SOURCE);
    track->name = catalog_string(catalog, name);
    track->id = id;
    track->source = role_of_plane(name);
    track->sort_key = index;
    track->args = args;
    source->planes.items[index].track = (uint32_t)(track - catalog->tracks.items);

    struct host *host = &catalog->hosts.items[file];
    if (text_equal(name, TEXT("Task Environment"))) {
        const struct arg *start = plane_stat(catalog, &args, TEXT("profile_start_time"));
        const struct arg *stop = plane_stat(catalog, &args, TEXT("profile_stop_time"));
        host->start_epoch_ns = start ? arg_integer(start) : TIME_UNSET;
        host->stop_epoch_ns = stop ? arg_integer(stop) : TIME_UNSET;
    }
    if (text_equal(name, TEXT("/host:metadata")))
        read_programs(catalog, file, first_type);
    return true;
}

/* Errors, warnings and host names come behind the planes that need the name of their host. */
static bool read_space(struct xplane_source *source, uint32_t file, struct text *hostname,
                       struct pb_reader *in)
{
    struct catalog *catalog = &source->source.catalog;
    struct pb_field field;
    while (pb_next(in, &field)) {
        if (field.tag == XSPACE_HOSTNAMES && hostname->size == 0)
            *hostname = pb_text(&field);
        else if (field.tag == XSPACE_ERRORS || field.tag == XSPACE_WARNINGS)
            *array_push(&catalog->messages) =
                (struct message){.host = file,
                                 .is_error = field.tag == XSPACE_ERRORS,
                                 .text = catalog_string(catalog, pb_text(&field))};
    }
    return in->problem == NULL;
}

static void add_line_args(struct catalog *catalog, const struct xplane_line *line,
                          struct track *track)
{
    arg_buffer args = {0};
    if (line->timestamp_ns != 0)
        add_int_arg(catalog, &args, TEXT("timestamp_ns"), line->timestamp_ns);
    if (line->duration_ps != 0)
        add_int_arg(catalog, &args, TEXT("duration_ps"), line->duration_ps);
    if (line->display_id != 0)
        add_int_arg(catalog, &args, TEXT("display_id"), (int64_t)line->display_id);
    track->args = keep_args(catalog, args.items, args.count);
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

/* A counter line mixes the samples of many counters; each gets a lane of its own. */
static bool add_counters(struct xplane_source *source, const struct xplane_line *line,
                         int64_t sort_key, struct pb_reader *failed)
{
    struct catalog *catalog = &source->source.catalog;
    const struct xplane_plane *plane = &source->planes.items[line->plane];
    struct idmap lanes = {0}; /* metadata id -> chunk */
    struct pb_reader in = pb_read(line->data, line->size);
    struct pb_field field, inner;
    while (pb_next(&in, &field)) {
        if (field.tag != XLINE_EVENTS)
            continue;
        struct pb_reader event = pb_enter(&field);
        uint64_t id = 0;
        while (pb_next(&event, &inner))
            if (inner.tag == XEVENT_METADATA_ID) {
                id = inner.value;
                break;
            }
        if (event.problem) {
            in = event;
            break;
        }
        uint32_t number = idmap_get(&lanes, id);
        if (number == IDMAP_NONE) {
            uint32_t type = idmap_get(&plane->types, id);
            struct track *track = add_lane(catalog, plane, line, sort_key);
            if (type != IDMAP_NONE)
                track->display_name = catalog->types.items[type].name;
            number = (uint32_t)source->chunks.count;
            idmap_put(&lanes, id, number);
            *array_push(&source->chunks) =
                (struct xplane_chunk){.data = line->data,
                                      .size = line->size,
                                      .plane = line->plane,
                                      .track = (uint32_t)(track - catalog->tracks.items),
                                      .counter = id,
                                      .stamp_ns = line->timestamp_ns};
        }
        struct xplane_chunk *chunk = &source->chunks.items[number];
        chunk->count++;
        catalog->tracks.items[chunk->track].events++;
    }
    idmap_free(&lanes);
    *failed = in;
    return in.problem == NULL;
}

/* Walks over one line's fields, counting its events and cutting it into chunks. */
static bool check_line(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct xplane_line *line = &((struct xplane_line *)context)[index];
    struct pb_reader in = pb_read(line->data, line->size);
    struct pb_field field;
    struct xplane_chunk *chunk = NULL;
    for (;;) {
        const uint8_t *start = in.at;
        if (!pb_next(&in, &field))
            break;
        switch (field.tag) {
        case XLINE_EVENTS:
            if (!chunk || chunk->count == CHUNK_EVENTS) {
                chunk = array_push(&line->chunks);
                *chunk = (struct xplane_chunk){
                    .data = start, .plane = line->plane, .first = line->events};
            }
            chunk->count++;
            chunk->size = (size_t)(in.at - chunk->data);
            line->events++;
            break;
        case XLINE_ID:
            line->id = field.value;
            break;
        case XLINE_NAME:
            line->name = pb_text(&field);
            break;
        case XLINE_TIMESTAMP_NS:
            line->timestamp_ns = (int64_t)field.value;
            break;
        case XLINE_DURATION_PS:
            line->duration_ps = (int64_t)field.value;
            break;
        case XLINE_DISPLAY_ID:
            line->display_id = field.value;
            break;
        case XLINE_DISPLAY_NAME:
            line->display_name = pb_text(&field);
            break;
        default:
            break;
        }
    }
    for (size_t i = 0; i < line->chunks.count; i++)
        line->chunks.items[i].stamp_ns = line->timestamp_ns;
    line->problem = in;
    return in.problem == NULL;
}

static bool lay_out_lines(struct xplane_source *source, size_t first_line, struct pool *pool,
                          struct pb_reader *failed)
{
    size_t count = source->lines.count - first_line;
    struct xplane_line *lines = source->lines.items + first_line;
    if (count > 0)
        pool_run(pool, count, check_line, lines);
    for (size_t i = 0; i < count; i++) {
        if (lines[i].problem.problem) {
            *failed = lines[i].problem;
            return false;
        }
        if (role_of_line(lines[i].name) != LANE_COUNTER)
            add_line(source, &lines[i], (int64_t)i);
        else if (!add_counters(source, &lines[i], (int64_t)i, failed))
            return false;
    }
    return true;
}

bool xplane_layout(struct xplane_source *source, uint32_t file, const char *label,
                   struct pool *pool, struct error *err)
{
    const struct xplane_file *input = &source->files.items[file];
    struct catalog *catalog = &source->source.catalog;
    struct text hostname = TEXT("");
    struct pb_reader failed = pb_read(input->data, input->size);
    if (!read_space(source, file, &hostname, &failed))
        return xplane_damaged(input, failed.at, failed.problem, err);
    if (hostname.size == 0)
        hostname = text_of(label);
    struct host *host = &catalog->hosts.items[file];
    host->name = catalog_string(catalog, hostname);
    uint32_t instance = catalog_group(catalog, TRACK_NONE, TRACK_INSTANCE, 0, host->name);

    size_t first_line = source->lines.count;
    struct pb_reader in = pb_read(input->data, input->size);
    struct pb_field field;
    while (pb_next(&in, &field))
        if (field.tag == XSPACE_PLANES &&
            !read_plane(source, file, instance, pb_enter(&field), &failed))
            return xplane_damaged(input, failed.at, failed.problem, err);
    if (!lay_out_lines(source, first_line, pool, &failed))
        return xplane_damaged(input, failed.at, failed.problem, err);
    return true;
}

/* Files that never went through a profiling session carry epoch times and no start: the earliest of
 * them is taken for it. */
static void guess_starts(struct xplane_source *source)
{
    struct catalog *catalog = &source->source.catalog;
    ARRAY(bool) guessed = {0};
    array_reserve(&guessed, catalog->hosts.count);
    for (size_t i = 0; i < catalog->hosts.count; i++)
        guessed.items[i] = catalog->hosts.items[i].start_epoch_ns == TIME_UNSET;
    const struct xplane_line *line;
    array_each (line, &source->lines) {
        uint32_t file = source->planes.items[line->plane].file;
        struct host *host = &catalog->hosts.items[file];
        if (guessed.items[file] && line->timestamp_ns >= EPOCH_TIMES_FROM_NS &&
            (host->start_epoch_ns == TIME_UNSET || line->timestamp_ns < host->start_epoch_ns))
            host->start_epoch_ns = line->timestamp_ns;
    }
    array_free(&guessed);
}

static void align_hosts(struct catalog *catalog)
{
    struct host *host;
    array_each (host, &catalog->hosts) {
        if (host->start_epoch_ns == TIME_UNSET)
            continue;
        if (catalog->start_epoch_ns == TIME_UNSET || host->start_epoch_ns < catalog->start_epoch_ns)
            catalog->start_epoch_ns = host->start_epoch_ns;
        if (host->stop_epoch_ns != TIME_UNSET && host->stop_epoch_ns > catalog->stop_epoch_ns)
            catalog->stop_epoch_ns = host->stop_epoch_ns;
    }
    array_each (host, &catalog->hosts) {
        int64_t apart_ns;
        bool known = host->start_epoch_ns != TIME_UNSET;
        if (known &&
            !__builtin_sub_overflow(host->start_epoch_ns, catalog->start_epoch_ns, &apart_ns) &&
            !__builtin_mul_overflow(apart_ns, (int64_t)PS_PER_NS, &host->shift_ps))
            continue;
        host->shift_ps = 0;
        const char *text = known ? "its clock is more than 106 days away from the other hosts'; it "
                                   "is shown as if it had started with them"
                                 : "has no Task Environment: its absolute time is unknown, and if "
                                   "the file was cut off, planes may be missing";
        *array_push(&catalog->messages) =
            (struct message){.host = (uint32_t)(host - catalog->hosts.items),
                             .text = catalog_string(catalog, text_of(text))};
    }
}

bool xplane_align(struct xplane_source *source, struct error *err)
{
    struct catalog *catalog = &source->source.catalog;
    guess_starts(source);
    align_hosts(catalog);
    struct xplane_chunk *chunk;
    array_each (chunk, &source->chunks) {
        uint32_t file = source->planes.items[chunk->plane].file;
        const struct host *host = &catalog->hosts.items[file];
        int64_t stamp_ns = chunk->stamp_ns;
        if (host->start_epoch_ns != TIME_UNSET && host->start_epoch_ns > 0 &&
            stamp_ns >= host->start_epoch_ns)
            stamp_ns -= host->start_epoch_ns;
        int64_t stamp_ps;
        if (__builtin_mul_overflow(stamp_ns, (int64_t)PS_PER_NS, &stamp_ps) ||
            __builtin_add_overflow(stamp_ps, host->shift_ps, &chunk->base_ps))
            return xplane_damaged(&source->files.items[file], chunk->data,
                                  "a line's time stamp is out of range", err);
    }
    return true;
}
