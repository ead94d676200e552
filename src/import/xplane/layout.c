/*
 * XPlane, first pass, planes: adds their names, stats, event types and programs to the catalog.
 * Names follow the lines that use them, so lines are only recorded here.
 */
#include "import/hlo.h"
#include "import/xplane/xplane_passes.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGEST_PAGE = 2 << 20 }; /* limit on what one read of the file may page in */

/* A map entry's key and value; either may be missing. */
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

/* Names with malformed UTF-8 are cleaned, since they become keys. The number is kept as well, for
 * writing the file back. */
static bool read_stat_metadata(struct xplane_source *source, struct xplane_plane *plane,
                               struct pb_reader in, struct pb_reader *failed)
{
    struct pb_reader value;
    struct pb_field field;
    uint64_t key;
    struct catalog *catalog = &source->source.catalog;
    struct text name = TEXT(""), description = TEXT("");
    if (!read_map_entry(&in, &key, &value)) {
        *failed = in;
        return false;
    }
    while (pb_next(&value, &field)) {
        if (field.tag == XSTAT_METADATA_NAME)
            name = pb_text(&field);
        else if (field.tag == XSTAT_METADATA_DESCRIPTION)
            description = pb_text(&field);
    }
    *failed = value;
    uint32_t string = catalog_key(catalog, name);
    idmap_put(&plane->strings, key, string);
    *array_push(&catalog->names) = (struct numbered_name){
        .name = string, .description = catalog_string(catalog, description), .id = (int64_t)key};
    return value.problem == NULL;
}

/* A stat of a plane or an event type. Its name may be missing on purpose: the plane of scope ranges
 * uses the id itself as data, so the id becomes the key. */
static bool read_constant_stat(struct xplane_source *source, const struct xplane_plane *plane,
                               struct pb_reader in, arg_buffer *args, struct pb_reader *failed)
{
    struct arg arg;
    uint64_t id;
    bool ok = xplane_stat(plane, &in, &id, &arg);
    *failed = in;
    uint32_t name = idmap_get(&plane->strings, id);
    if (ok && (name == IDMAP_NONE || name == STRING_NONE)) {
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
        *array_push(args) = catalog_int_arg(catalog, TEXT("child_id"), (int64_t)id);
    *failed = in;
    return in.problem == NULL;
}

/* The opaque metadata, if there is any, must come first among the args, wherever it is in the
 * message: hence the placeholder. Bytes point into the file. */
static bool read_event_metadata(struct xplane_source *source, struct xplane_plane *plane,
                                struct pb_reader in, arg_buffer *args, struct pb_reader *failed)
{
    struct catalog *catalog = &source->source.catalog;
    struct pb_reader value;
    struct pb_field field;
    struct event_type type = {0};
    uint64_t key;
    args->count = 0;
    *array_push(args) = (struct arg){.type = ARG_NONE}; /* placeholder for the opaque metadata */
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
            args->items[0] = (struct arg){.key = catalog_string(catalog, TEXT("metadata")),
                                          .type = ARG_BYTES,
                                          .size = field.value & ARG_LARGEST,
                                          .data = field.bytes};
            break;
        case XEVENT_METADATA_STATS:
            if (!read_constant_stat(source, plane, pb_enter(&field), args, failed))
                return false;
            break;
        case XEVENT_METADATA_CHILD_ID:
            *array_push(args) = catalog_int_arg(catalog, TEXT("child_id"), (int64_t)field.value);
            break;
        case XEVENT_METADATA_CHILD_IDS:
            if (!read_child_ids(catalog, pb_enter(&field), args, failed))
                return false;
            break;
        default:
            break;
        }
    }
    bool has_metadata = args->items[0].type != ARG_NONE;
    type.args = has_metadata ? catalog_keep_args(catalog, args->items, args->count)
                             : catalog_keep_args(catalog, args->items + 1, args->count - 1);
    type.id = (int64_t)key;
    idmap_put(&plane->types, key, (uint32_t)catalog->types.count);
    *array_push(&catalog->types) = type;
    *failed = value;
    return value.problem == NULL;
}

static enum source_role role_of_plane(struct text name)
{
    if (text_starts(name, TEXT("/device:")) || text_starts(name, TEXT("#Chip")))
        return SOURCE_DEVICE;
    if (text_starts(name, TEXT("/host:")) || text_starts(name, TEXT("/neuron_rt")) ||
        text_equal(name, TEXT("Host CPUs")) || text_equal(name, TEXT("Syscalls")))
        return SOURCE_HOST;
    return SOURCE_OTHER;
}

static void make_usual_keys(struct catalog *catalog, struct xplane_plane *plane)
{
    plane->usual_keys = arena_alloc(&catalog->arena, USUAL_KEYS * sizeof *plane->usual_keys);
    for (uint64_t id = 0; id < USUAL_KEYS; id++) {
        uint32_t string = idmap_get(&plane->strings, id);
        plane->usual_keys[id] = string == IDMAP_NONE ? plane->key_unknown : string;
    }
}

/* The plane's own fields and its stat names, which everything else in it refers to. */
static bool read_plane_names(struct xplane_source *source, uint32_t plane_index,
                             struct pb_reader body, struct text *name, int64_t *id,
                             struct pb_reader *failed)
{
    struct xplane_plane *plane = &source->planes.items[plane_index];
    struct pb_reader in = body;
    size_t first_line = source->lines.count;
    struct pb_field field;
    struct error ignored;
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
            mem_touched(field.value < LARGEST_PAGE ? field.value : LARGEST_PAGE);
            *array_push(&source->lines) = (struct xplane_line){
                .data = field.bytes, .size = field.value, .plane = plane_index};
            break;
        default:
            continue;
        }
        if (!xplane_is_within(source, "", &ignored))
            return false;
    }
    if (source->lines.count > first_line)
        make_usual_keys(&source->source.catalog, plane);
    *failed = in;
    return in.problem == NULL;
}

/* Checks the limits after each type, as a small file can declare millions. The caller reports which
 * limit it was. */
static bool read_plane_types(struct xplane_source *source, struct xplane_plane *plane,
                             struct pb_reader body, struct arg_list *plane_args,
                             struct pb_reader *failed)
{
    struct pb_reader in = body;
    struct pb_field field;
    arg_buffer stats = {0}, type_args = {0};
    struct error ignored;
    bool ok = true;
    while (ok && pb_next(&in, &field)) {
        if (field.tag == XPLANE_EVENT_METADATA)
            ok = read_event_metadata(source, plane, pb_enter(&field), &type_args, failed) &&
                 xplane_is_within(source, "", &ignored);
        else if (field.tag == XPLANE_STATS)
            ok = read_constant_stat(source, plane, pb_enter(&field), &stats, failed);
    }
    if (ok) {
        *plane_args = catalog_keep_args(&source->source.catalog, stats.items, stats.count);
        *failed = in;
        ok = in.problem == NULL;
    }
    array_free(&stats);
    array_free(&type_args);
    return ok;
}

/* Programs are stats of event types in the metadata plane. A damaged one is reported and skipped;
 * events still show its names. */
static void read_programs(struct catalog *catalog, uint32_t host, size_t first_type)
{
    for (size_t i = first_type; i < catalog->types.count; i++) {
        struct event_type type = catalog->types.items[i];
        const struct arg *proto = catalog_arg(catalog, &type.args, TEXT("Hlo Proto"));
        const struct arg *number = catalog_arg(catalog, &type.args, TEXT("program_id"));
        if (!proto || proto->type != ARG_BYTES)
            continue;
        struct text label = catalog_text(catalog, type.name);
        uint64_t id = 0; /* without a stat, the label has it: "module(id)" */
        for (size_t at = 0; !number && at < label.size; at++)
            if (label.data[at] == '(')
                id = strtoull(label.data + at + 1, NULL, 10);
        if (number)
            id = (uint64_t)arg_integer(number);
        if (!hlo_import(catalog, host, type.name, id, proto->data, proto->size)) {
            char text[256];
            int size = snprintf(text, sizeof text, "the HLO of %.*s is damaged and was skipped",
                                (int)(label.size < 128 ? label.size : 128), label.data);
            *array_push(&catalog->messages) = (struct message){
                .host = host,
                .is_ours = true,
                .text = catalog_string(catalog, (struct text){text, (size_t)size})};
        }
    }
}

/* Reads the plane twice: stat names first, as everything else refers to them and the writer puts
 * them last. Types and names get their track when it exists. */
static bool read_plane(struct xplane_source *source, uint32_t file, uint32_t instance,
                       struct pb_reader body, struct pb_reader *failed)
{
    struct catalog *catalog = &source->source.catalog;
    uint32_t index = (uint32_t)source->planes.count;
    *array_push(&source->planes) = (struct xplane_plane){
        .file = file, .track = TRACK_NONE, .key_unknown = catalog_string(catalog, TEXT("?"))};
    struct text name = TEXT("");
    int64_t id = 0;
    size_t first_type = catalog->types.count, first_name = catalog->names.count;
    struct arg_list args;
    if (!read_plane_names(source, index, body, &name, &id, failed) ||
        !read_plane_types(source, &source->planes.items[index], body, &args, failed))
        return false;

    const struct arg *pid = catalog_arg(catalog, &args, TEXT("process_id"));
    uint32_t process =
        catalog_group(catalog, instance, TRACK_PROCESS, pid ? arg_integer(pid) : 0, STRING_NONE);
    struct track *track = catalog_add_track(catalog, process, TRACK_SOURCE);
    track->name = catalog_string(catalog, name);
    track->id = id;
    track->source = role_of_plane(name);
    track->sort_key = index;
    track->args = args;
    source->planes.items[index].track = (uint32_t)(track - catalog->tracks.items);
    for (size_t i = first_type; i < catalog->types.count; i++)
        catalog->types.items[i].source = source->planes.items[index].track;
    for (size_t i = first_name; i < catalog->names.count; i++)
        catalog->names.items[i].source = source->planes.items[index].track;

    struct host *host = &catalog->hosts.items[file];
    if (text_equal(name, TEXT("Task Environment"))) {
        const struct arg *start = catalog_arg(catalog, &args, TEXT("profile_start_time"));
        const struct arg *stop = catalog_arg(catalog, &args, TEXT("profile_stop_time"));
        host->start_epoch_ns = start ? arg_integer(start) : TIME_UNSET;
        host->stop_epoch_ns = stop ? arg_integer(stop) : TIME_UNSET;
    }
    if (text_equal(name, TEXT("/host:metadata")))
        read_programs(catalog, file, first_type);
    return true;
}

/* Errors, warnings and host names follow the planes that need the host's name. */
static bool read_space(struct xplane_source *source, uint32_t file, struct text *hostname,
                       struct pb_reader *in)
{
    struct catalog *catalog = &source->source.catalog;
    struct pb_field field;
    bool is_empty = true;
    while (pb_next(in, &field)) {
        is_empty &= field.tag < XSPACE_PLANES || field.tag > XSPACE_HOSTNAMES ||
                    (field.tag & 7) != PB_BYTES;
        if (field.tag == XSPACE_HOSTNAMES && hostname->size == 0)
            *hostname = pb_text(&field);
        else if (field.tag == XSPACE_ERRORS || field.tag == XSPACE_WARNINGS)
            *array_push(&catalog->messages) =
                (struct message){.host = file,
                                 .is_error = field.tag == XSPACE_ERRORS,
                                 .text = catalog_string(catalog, pb_text(&field))};
    }
    if (is_empty && !in->problem)
        return pb_fail(in, "no planes in it");
    return in->problem == NULL;
}

/* The most common damage is truncation: report it in terms of the file. */
static bool xplane_cut_off(const struct xplane_file *file, const struct pb_reader *failed,
                           struct error *err)
{
    struct pb_reader in = *failed;
    uint64_t tag, size;
    uint64_t at = (uint64_t)(failed->at - file->data);
    if (pb_varint(&in, &tag) && tag == XSPACE_PLANES && pb_varint(&in, &size))
        return error_at(
            err, file->path, at,
            "damaged or truncated: a plane of %llu bytes starts here, but only %zu bytes are left",
            (unsigned long long)size, (size_t)(failed->end - failed->at));
    return xplane_damaged(file, failed->at, failed->problem, err);
}

/* The host's name comes after the planes that need it, so the file is scanned once for it first. A
 * limit that was exceeded is reported instead of the damage it looks like. */
bool xplane_layout(struct xplane_source *source, uint32_t file, const char *label,
                   struct pool *pool, struct error *err)
{
    const struct xplane_file *input = &source->files.items[file];
    struct catalog *catalog = &source->source.catalog;
    struct text hostname = TEXT("");
    struct pb_reader failed = pb_read(input->data, input->size);
    if (!read_space(source, file, &hostname, &failed))
        return xplane_cut_off(input, &failed, err);
    struct host *host = &catalog->hosts.items[file];
    host->is_nameless = hostname.size == 0;
    if (host->is_nameless)
        hostname = text_of(label);
    host->name = catalog_string(catalog, hostname);
    host->machine = host->is_nameless ? STRING_NONE : host->name;
    uint32_t instance = catalog_group(catalog, TRACK_NONE, TRACK_INSTANCE, 0, host->name);

    struct pb_reader in = pb_read(input->data, input->size);
    struct pb_field field;
    bool ok = true;
    while (ok && pb_next(&in, &field))
        ok = field.tag != XSPACE_PLANES ||
             (read_plane(source, file, instance, pb_enter(&field), &failed) &&
              xplane_is_within(source, input->path, err));
    ok = ok && xplane_lines(source, file, pool, &failed);
    if (!xplane_is_within(source, input->path, err))
        return false;
    return ok || xplane_damaged(input, failed.at, failed.problem, err);
}
