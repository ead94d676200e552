/*
 * XPlane export: a second capture of the same process and time, such as jaxlib's, that is written
 * with the profile as one. Its start time becomes that of the file. Its /host:CPU plane and ours
 * are merged: XProf groups the events of a step by their nesting in a line, so lines of one thread
 * become one line, in time order. Everything else is written unchanged.
 */
#include "export/xplane/writer_passes.h"

enum { PS_PER_NS = 1000 };

static const struct text HOST_PLANE = {"/host:CPU", 9};
static const struct text START_TIME = {"profile_start_time", 18};
static const struct text PROCESS = {"process_id", 10};

/* The value of a map's entry, which is a message. */
static struct pb_reader entry_value(const struct pb_field *entry)
{
    struct pb_reader in = pb_enter(entry);
    struct pb_field field = {0}, value = {0};
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(MAP_VALUE, PB_BYTES))
            value = field;
    struct pb_reader found = pb_enter(&value);
    if (in.problem)
        found.problem = in.problem;
    return found;
}

/* Id and name of an XEventMetadata or XStatMetadata. */
static bool read_metadata(const struct pb_field *entry, uint64_t *id, struct text *name)
{
    struct pb_reader in = entry_value(entry);
    struct pb_field field;
    *id = 0;
    *name = (struct text){0};
    while (!in.problem && pb_next(&in, &field)) {
        if (field.tag == PB_TAG(METADATA_ID, PB_VARINT))
            *id = field.value;
        else if (field.tag == PB_TAG(METADATA_NAME, PB_BYTES))
            *name = pb_text(&field);
    }
    return !in.problem;
}

static struct text plane_name(const struct pb_field *plane)
{
    struct pb_reader in = pb_enter(plane);
    struct pb_field field;
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(XPLANE_NAME, PB_BYTES))
            return pb_text(&field);
    return (struct text){0};
}

/* The unsigned number of a plane's stat; false if it is missing. */
static bool plane_number(const struct pb_field *plane, struct text name, uint64_t *number)
{
    uint64_t wanted = 0, id;
    struct text found;
    struct pb_reader in = pb_enter(plane);
    struct pb_field field;
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(XPLANE_STAT_METADATA, PB_BYTES) &&
            read_metadata(&field, &id, &found) && text_equal(found, name))
            wanted = id;
    in = pb_enter(plane);
    while (wanted != 0 && pb_next(&in, &field)) {
        if (field.tag != PB_TAG(XPLANE_STATS, PB_BYTES))
            continue;
        struct pb_reader stat = pb_enter(&field);
        struct pb_field part;
        bool is_it = false;
        while (pb_next(&stat, &part)) {
            is_it |= part.tag == PB_TAG(XSTAT_METADATA_ID, PB_VARINT) && part.value == wanted;
            if (part.tag == PB_TAG(XSTAT_UINT64, PB_VARINT) ||
                part.tag == PB_TAG(XSTAT_INT64, PB_VARINT))
                *number = part.value;
        }
        if (is_it)
            return true;
    }
    return false;
}

static struct xspace_guest_line read_line(const struct pb_field *body, struct text whole,
                                          const char **problem)
{
    struct xspace_guest_line line = {.whole = whole, .events = pb_text(body)};
    struct pb_reader in = pb_enter(body);
    struct pb_field field;
    while (pb_next(&in, &field)) {
        if (field.tag == PB_TAG(XLINE_ID, PB_VARINT))
            line.id = (int64_t)field.value;
        else if (field.tag == PB_TAG(XLINE_TIMESTAMP_NS, PB_VARINT))
            line.stamp_ns = (int64_t)field.value;
    }
    if (in.problem)
        *problem = in.problem;
    return line;
}

static void read_name(struct xspace_guest *guest, const struct pb_field *entry,
                      const char **problem)
{
    uint64_t id;
    struct text name;
    bool is_stat = entry->tag == PB_TAG(XPLANE_STAT_METADATA, PB_BYTES);
    uint64_t *most = is_stat ? &guest->most_stat : &guest->most_type;
    if (!read_metadata(entry, &id, &name) || id > INT32_MAX) {
        *problem = "an entry of its names is damaged";
        return;
    }
    *most = id > *most ? id : *most;
    if (is_stat && intern_find(&guest->names, name) == INTERN_NONE)
        idmap_put(&guest->stats, intern_add(&guest->names, name), (uint32_t)id);
}

/* Fields are kept as they are in the file, with their tags, and copied on writing. Id and name are
 * left out: the merged plane has ours. */
static const char *read_host_plane(struct xspace_guest *guest, const struct pb_field *plane)
{
    struct pb_reader in = pb_enter(plane);
    struct pb_field field;
    const char *problem = NULL;
    uint64_t process;
    for (;;) {
        const char *start = (const char *)in.at;
        if (!pb_next(&in, &field))
            break;
        struct text whole = {start, (size_t)((const char *)in.at - start)};
        if (field.tag == PB_TAG(XPLANE_LINES, PB_BYTES)) {
            *array_push(&guest->lines) = read_line(&field, whole, &problem);
            continue;
        }
        if (field.tag == PB_TAG(XPLANE_ID, PB_VARINT) || field.tag == PB_TAG(XPLANE_NAME, PB_BYTES))
            continue;
        if (field.tag == PB_TAG(XPLANE_EVENT_METADATA, PB_BYTES) ||
            field.tag == PB_TAG(XPLANE_STAT_METADATA, PB_BYTES))
            read_name(guest, &field, &problem);
        *array_push(&guest->fields) = whole;
    }
    guest->has_process = plane_number(plane, PROCESS, &process);
    guest->has_host_plane = true;
    return in.problem ? in.problem : problem;
}

/* Keeps pointers into the mapped file, which stays open with the guest. On failure the caller still
 * closes it. */
bool xspace_guest_open(struct xspace_guest *guest, const char *path, struct error *err)
{
    *guest = (struct xspace_guest){.plane = XSPACE_NO_PLANE, .start_ns = TIME_UNSET};
    intern_init(&guest->names);
    if (!file_open(&guest->file, path, err))
        return false;
    struct pb_reader in = pb_read(guest->file.data, guest->file.size);
    struct pb_field field;
    const char *problem = NULL;
    uint64_t start_ns;
    for (;;) {
        const char *start = (const char *)in.at;
        if (problem || !pb_next(&in, &field))
            break;
        struct text whole = {start, (size_t)((const char *)in.at - start)};
        bool is_plane = field.tag == PB_TAG(XSPACE_PLANES, PB_BYTES);
        if (is_plane && plane_number(&field, START_TIME, &start_ns))
            guest->start_ns = (int64_t)start_ns;
        if (is_plane && !guest->has_host_plane && text_equal(plane_name(&field), HOST_PLANE)) {
            guest->host_plane = whole;
            problem = read_host_plane(guest, &field);
        } else if (field.tag != PB_TAG(XSPACE_HOSTNAMES, PB_BYTES)) {
            *array_push(&guest->others) = whole;
        }
    }
    if (in.problem || problem)
        return error_in_file(err, path, "not an XPlane file, or damaged: %s",
                             in.problem ? in.problem : problem);
    return guest->start_ns != TIME_UNSET ||
           error_in_file(err, path, "has no profile_start_time to align it by");
}

void xspace_guest_close(struct xspace_guest *guest)
{
    array_free(&guest->lines);
    array_free(&guest->fields);
    array_free(&guest->others);
    idmap_free(&guest->stats);
    intern_free(&guest->names);
    file_close(&guest->file);
}

void xspace_guest_find_plane(struct xspace *space)
{
    struct xspace_guest *guest = space->guest;
    for (uint32_t i = 0; guest && i < space->planes.count; i++) {
        uint32_t source = space->planes.items[i].source;
        if (guest->plane == XSPACE_NO_PLANE && guest->has_host_plane && source != TRACK_NONE &&
            text_equal(catalog_text(space->catalog, space->catalog->tracks.items[source].name),
                       HOST_PLANE))
            guest->plane = i;
    }
    if (guest && guest->has_host_plane && guest->plane == XSPACE_NO_PLANE)
        *array_push(&guest->others) = guest->host_plane;
}

/* Times of lines are relative to the guest's start. */
void xspace_guest_place_line(const struct xspace *space, struct xspace_line *line)
{
    struct xspace_guest *guest = space->guest;
    const struct host *host = &space->catalog->hosts.items[space->planes.items[line->plane].host];
    int64_t later_ns = sub_saturated(host->start_epoch_ns, guest->start_ns);
    line->stamp_ns = later_ns;
    for (size_t i = 0; line->plane == guest->plane && i < guest->lines.count; i++) {
        struct xspace_guest_line *other = &guest->lines.items[i];
        if (other->id != line->id || other->is_merged)
            continue;
        other->is_merged = true;
        line->guest = other;
        line->stamp_ns = other->stamp_ns;
        line->zero_ps =
            (int64_t)((uint64_t)line->zero_ps + (uint64_t)(other->stamp_ns - later_ns) * PS_PER_NS);
        return;
    }
}

/* Each event becomes a chunk, so that it can be merged with ours by time. Its number is above all
 * of ours: of events with the same time, ours come first. */
static void add_events(xspace_chunks *chunks, const struct xspace_line *line, uint32_t number)
{
    struct pb_reader in =
        pb_read((const uint8_t *)line->guest->events.data, line->guest->events.size);
    struct pb_field field, part;
    for (uint64_t count = 0;;) {
        const uint8_t *start = in.at;
        if (!pb_next(&in, &field))
            return;
        if (field.tag != PB_TAG(XLINE_EVENTS, PB_BYTES))
            continue;
        int64_t offset_ps = 0, duration_ps = 0;
        struct pb_reader event = pb_enter(&field);
        while (pb_next(&event, &part)) {
            if (part.tag == PB_TAG(XEVENT_OFFSET_PS, PB_VARINT))
                offset_ps = (int64_t)part.value;
            else if (part.tag == PB_TAG(XEVENT_DURATION_PS, PB_VARINT))
                duration_ps = (int64_t)part.value;
        }
        *array_push(chunks) =
            (struct xspace_chunk){.line = number,
                                  .lane = line->lane,
                                  .order = (int64_t)((uint64_t)line->zero_ps + (uint64_t)offset_ps),
                                  .tie = sub_saturated(0, duration_ps),
                                  .number = (uint64_t)1 << 63 | count++,
                                  .data = (const char *)start,
                                  .size = (size_t)(in.at - start)};
    }
}

void xspace_guest_add_events(struct xspace *space)
{
    for (uint32_t i = 0; space->guest && i < space->lines.count; i++)
        if (space->lines.items[i].guest)
            add_events(&space->chunks, &space->lines.items[i], i);
}

uint32_t xspace_guest_stat(const struct xspace *space, const struct xspace_plane *plane,
                           struct text name)
{
    const struct xspace_guest *guest = space->guest;
    if (!guest || guest->plane != (uint32_t)(plane - space->planes.items))
        return IDMAP_NONE;
    uint32_t known = intern_find(&guest->names, name);
    return known == INTERN_NONE ? IDMAP_NONE : idmap_get(&guest->stats, known);
}

uint64_t xspace_guest_plane_size(const struct xspace *space, uint32_t plane, bool with_lines)
{
    const struct xspace_guest *guest = space->guest;
    uint64_t size = 0;
    const struct text *field;
    const struct xspace_guest_line *line;
    if (!guest || guest->plane != plane)
        return 0;
    array_each (field, &guest->fields)
        size += field->size;
    array_each (line, &guest->lines)
        if (with_lines && !line->is_merged)
            size += line->whole.size;
    return size;
}

void xspace_guest_write_plane(const struct xspace *space, uint32_t plane, bool with_lines,
                              struct output *out)
{
    const struct xspace_guest *guest = space->guest;
    const struct text *field;
    const struct xspace_guest_line *line;
    if (!guest || guest->plane != plane)
        return;
    array_each (line, &guest->lines)
        if (with_lines && !line->is_merged)
            output_write(out, line->whole.data, line->whole.size);
    array_each (field, &guest->fields)
        output_write(out, field->data, field->size);
}

uint64_t xspace_guest_others_size(const struct xspace *space)
{
    uint64_t size = 0;
    const struct text *other;
    if (space->guest)
        array_each (other, &space->guest->others)
            size += other->size;
    return size;
}

void xspace_guest_write_others(const struct xspace *space, struct output *out)
{
    const struct text *other;
    if (space->guest)
        array_each (other, &space->guest->others)
            output_write(out, other->data, other->size);
}
