/*
 * XPlane export: writes one planned file. All message sizes are known by now, so everything is
 * streamed.
 */
#include "export/xplane/writer_passes.h"

/* The fields of a line before and after its events. */
struct line_fields {
    struct output head, tail;
};

static size_t varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

static uint64_t framed(uint64_t size)
{
    return 1 + varint_size(size) + size; /* all tags here are one byte */
}

static void put_frame(struct output *out, uint32_t field, uint64_t size)
{
    output_char(out, (char)PB_TAG(field, PB_BYTES));
    for (; size >= 0x80; size >>= 7)
        output_char(out, (char)(size | 0x80));
    output_char(out, (char)size);
}

static void put_number(struct output *out, uint32_t field, int64_t number)
{
    if (number != 0)
        pb_put_varint(out, field, (uint64_t)number);
}

static void put_arg(struct output *out, const struct catalog *catalog, const struct track *track,
                    struct text key, uint32_t field)
{
    const struct arg *arg = catalog_arg(catalog, &track->args, key);
    put_number(out, field, arg ? arg_integer(arg) : 0);
}

static void put_line_fields(const struct xspace *space, const struct xspace_line *line,
                            struct line_fields *fields)
{
    const struct catalog *catalog = space->catalog;
    const struct track *track = &catalog->tracks.items[line->lane];
    struct text name = xspace_line_name(space, line);
    struct text display_name = xspace_line_display_name(space, line);
    fields->head.size = fields->tail.size = 0;
    put_number(&fields->head, XLINE_ID, line->id);
    if (name.size > 0)
        xspace_put_text(space, &fields->head, XLINE_NAME, name);
    put_number(&fields->head, XLINE_TIMESTAMP_NS, line->stamp_ns);
    if (space->is_copy) {
        put_arg(&fields->tail, catalog, track, TEXT("duration_ps"), XLINE_DURATION_PS);
        put_arg(&fields->tail, catalog, track, TEXT("display_id"), XLINE_DISPLAY_ID);
    }
    if (display_name.size > 0)
        xspace_put_text(space, &fields->tail, XLINE_DISPLAY_NAME, display_name);
}

/* The chunks of a line within a slice. */
struct chunk_range {
    size_t first, end;
};

static struct chunk_range chunks_in(const struct xspace_slice *slice,
                                    const struct xspace_line *line)
{
    struct chunk_range range = {line->first_chunk, line->end_chunk};
    if (range.first < slice->first_chunk)
        range.first = slice->first_chunk;
    if (range.end > slice->end_chunk)
        range.end = slice->end_chunk;
    return range;
}

static uint64_t line_size(const struct xspace *space, const struct xspace_slice *slice,
                          const struct xspace_line *line, struct line_fields *fields)
{
    struct chunk_range range = chunks_in(slice, line);
    bool is_whole = range.first == line->first_chunk && range.end == line->end_chunk;
    put_line_fields(space, line, fields);
    return fields->head.size + fields->tail.size +
           (is_whole ? line->chunk_bytes : xspace_chunks_size(space, range.first, range.end));
}

static void write_chunks(const struct xspace *space, struct chunk_range range, struct output *out)
{
    for (size_t i = range.first; i < range.end && !out->failed; i++) {
        const struct xspace_chunk *chunk = xspace_chunk_at(space, i);
        bool is_jump = i == range.first || chunk[-1].data + chunk[-1].size != chunk->data;
        mem_touched(chunk->size + (is_jump ? MEM_JUMP : 0));
        output_write(out, chunk->data, chunk->size);
    }
}

static void write_slice(const struct xspace *space, const struct xspace_slice *slice,
                        struct line_fields *fields, struct output *out)
{
    const struct xspace_plane *plane = &space->planes.items[slice->plane];
    bool is_first = slice->first_line == plane->first_line &&
                    (plane->first_line == plane->end_line ||
                     slice->first_chunk <= space->lines.items[plane->first_line].first_chunk);
    uint64_t size = plane->front.size + plane->back.size +
                    xspace_guest_plane_size(space, slice->plane, is_first);
    for (size_t i = slice->first_line; i < slice->end_line; i++)
        size += framed(line_size(space, slice, &space->lines.items[i], fields));
    put_frame(out, XSPACE_PLANES, size);
    output_write(out, plane->front.data, plane->front.size);
    for (size_t i = slice->first_line; i < slice->end_line; i++) {
        const struct xspace_line *line = &space->lines.items[i];
        put_frame(out, XPLANE_LINES, line_size(space, slice, line, fields));
        output_write(out, fields->head.data, fields->head.size);
        write_chunks(space, chunks_in(slice, line), out);
        output_write(out, fields->tail.data, fields->tail.size);
    }
    xspace_guest_write_plane(space, slice->plane, is_first, out);
    output_write(out, plane->back.data, plane->back.size);
}

static void write_messages(const struct xspace *space, uint32_t host, bool errors,
                           struct output *out)
{
    const struct message *message;
    array_each (message, &space->catalog->messages)
        if (message->host == host && message->is_error == errors && !message->is_ours)
            xspace_put_text(space, out, errors ? XSPACE_ERRORS : XSPACE_WARNINGS,
                            catalog_text(space->catalog, message->text));
}

/* What belongs to the host as a whole, programs and messages, goes to its first file only; the
 * environment plane and the host's name go to each. */
bool xspace_write(const struct xspace *space, const struct xspace_plan *plan, size_t number,
                  struct output *out, struct error *err)
{
    const struct xspace_file *file = &plan->files.items[number];
    struct line_fields fields;
    output_memory(&fields.head);
    output_memory(&fields.tail);
    for (size_t i = file->first_slice; i < file->end_slice; i++)
        write_slice(space, &plan->slices.items[i], &fields, out);
    if (file->environment != XSPACE_NO_PLANE) {
        struct xspace_slice whole = xspace_whole_plane(space, file->environment);
        write_slice(space, &whole, &fields, out);
    }
    output_discard(&fields.head);
    output_discard(&fields.tail);
    if (file->is_first) {
        xspace_write_programs(space, file->host, out);
        xspace_guest_write_others(space, out);
        write_messages(space, file->host, true, out);
        write_messages(space, file->host, false, out);
    }
    const struct host *host = &space->catalog->hosts.items[file->host];
    if (!host->is_nameless)
        xspace_put_text(space, out, XSPACE_HOSTNAMES, catalog_text(space->catalog, host->name));
    if (out->failed)
        *err = out->error;
    return !out->failed;
}
