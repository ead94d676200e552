/*
 * XPlane export: distributes planes over files small enough for every protobuf reader. A plane
 * stays in one file if it fits; a larger one is split between lines or between chunks of a line,
 * and each part repeats the plane's metadata.
 */
#include "export/xplane/writer_passes.h"

enum { MAX_FRAME = 11, MAX_NUMBERS = 64 }; /* tag and length; all numeric fields of a line */

/* Files being filled. Sizes are upper bounds. */
struct filling {
    const struct xspace *space;
    struct xspace_plan *plan;
    uint64_t max_bytes;
    uint64_t reserved; /* for the parts repeated in every file of the host */
    uint64_t used;     /* of the current file */
};

static uint64_t frame_size(const struct xspace *space, const struct xspace_plane *plane)
{
    uint32_t number = (uint32_t)(plane - space->planes.items);
    return MAX_FRAME + plane->front.size + plane->back.size +
           xspace_guest_plane_size(space, number, true);
}

struct text xspace_line_display_name(const struct xspace *space, const struct xspace_line *line)
{
    const struct track *track = &space->catalog->tracks.items[line->lane];
    return line->is_counter ? TEXT("") : catalog_text(space->catalog, track->display_name);
}

struct text xspace_line_name(const struct xspace *space, const struct xspace_line *line)
{
    if (line->is_counter && !space->is_copy)
        return TEXT("_counters_");
    return catalog_text(space->catalog, space->catalog->tracks.items[line->lane].name);
}

/* An invalid UTF-8 byte becomes a three-byte replacement. */
static uint64_t line_frame_size(const struct xspace *space, const struct xspace_line *line)
{
    size_t names = xspace_line_name(space, line).size + xspace_line_display_name(space, line).size;
    return MAX_FRAME + MAX_NUMBERS + 3 * (uint64_t)names;
}

uint64_t xspace_chunks_size(const struct xspace *space, size_t first, size_t end)
{
    uint64_t size = 0;
    for (size_t i = first; i < end; i++)
        size += xspace_chunk_at(space, i)->size;
    return size;
}

static uint64_t plane_size(const struct xspace *space, const struct xspace_plane *plane)
{
    uint64_t size = frame_size(space, plane);
    for (size_t i = plane->first_line; i < plane->end_line; i++) {
        const struct xspace_line *line = &space->lines.items[i];
        size += line_frame_size(space, line) + line->chunk_bytes;
    }
    return size;
}

static bool fits(const struct filling *filling, uint64_t size)
{
    uint64_t used = filling->used + filling->reserved;
    return used <= filling->max_bytes && size <= filling->max_bytes - used;
}

static void begin_file(struct filling *filling, uint32_t host)
{
    struct xspace_plan *plan = filling->plan;
    bool is_first = plan->files.count == 0 || plan->files.items[plan->files.count - 1].host != host;
    *array_push(&plan->files) = (struct xspace_file){.host = host,
                                                     .is_first = is_first,
                                                     .first_slice = plan->slices.count,
                                                     .end_slice = plan->slices.count,
                                                     .environment = XSPACE_NO_PLANE};
    filling->used = 0;
}

static void add_slice(struct xspace_plan *plan, const struct xspace_slice *slice)
{
    *array_push(&plan->slices) = *slice;
    plan->files.items[plan->files.count - 1].end_slice = plan->slices.count;
}

struct xspace_slice xspace_whole_plane(const struct xspace *space, uint32_t number)
{
    const struct xspace_plane *plane = &space->planes.items[number];
    struct xspace_slice slice = {
        .plane = number, .first_line = plane->first_line, .end_line = plane->end_line};
    if (plane->first_line < plane->end_line) {
        slice.first_chunk = space->lines.items[plane->first_line].first_chunk;
        slice.end_chunk = space->lines.items[plane->end_line - 1].end_chunk;
    }
    return slice;
}

static bool too_large(const struct filling *filling, const struct xspace_plane *plane,
                      struct error *err)
{
    const struct catalog *catalog = filling->space->catalog;
    struct text name = plane->source == TRACK_NONE
                           ? TEXT("Task Environment")
                           : catalog_text(catalog, catalog->tracks.items[plane->source].name);
    return error_set(err,
                     "plane %.*s: its names and programs, or a single event, exceed the %llu bytes "
                     "that an XPlane file can hold",
                     (int)(name.size < 128 ? name.size : 128), name.data,
                     (unsigned long long)filling->max_bytes);
}

/* Adds a line to the slice; the part that does not fit goes to further files. */
static bool split_line(struct filling *filling, size_t number, struct xspace_slice *slice)
{
    const struct xspace *space = filling->space;
    const struct xspace_line *line = &space->lines.items[number];
    const struct xspace_plane *plane = &space->planes.items[line->plane];
    uint64_t line_frame = line_frame_size(space, line);
    size_t chunk = line->first_chunk;
    bool is_open = false; /* the line continues in this file */
    for (;;) {
        uint64_t needed = is_open ? 0 : line_frame;
        if (chunk < line->end_chunk)
            needed += xspace_chunk_at(space, chunk)->size;
        if (fits(filling, needed)) {
            filling->used += needed;
            is_open = true;
            chunk += chunk < line->end_chunk;
            if (chunk == line->end_chunk)
                return true;
            continue;
        }
        if (slice->first_line == number && slice->first_chunk == chunk)
            return false; /* a chunk alone does not fit */
        slice->end_line = number + is_open;
        slice->end_chunk = chunk;
        add_slice(filling->plan, slice);
        begin_file(filling, plane->host);
        filling->used = frame_size(space, plane);
        slice->first_line = number;
        slice->first_chunk = chunk;
        is_open = false;
    }
}

static bool split_plane(struct filling *filling, uint32_t number, struct error *err)
{
    const struct xspace_plane *plane = &filling->space->planes.items[number];
    struct xspace_slice whole = xspace_whole_plane(filling->space, number), slice = whole;
    filling->used = frame_size(filling->space, plane);
    if (!fits(filling, 0))
        return too_large(filling, plane, err);
    for (size_t i = plane->first_line; i < plane->end_line; i++)
        if (!split_line(filling, i, &slice))
            return too_large(filling, plane, err);
    slice.end_line = whole.end_line;
    slice.end_chunk = whole.end_chunk;
    add_slice(filling->plan, &slice);
    return true;
}

static bool add_plane(struct filling *filling, uint32_t number, struct error *err)
{
    const struct xspace_plane *plane = &filling->space->planes.items[number];
    uint64_t size = plane_size(filling->space, plane);
    if (!fits(filling, size) && filling->used > 0)
        begin_file(filling, plane->host);
    if (!fits(filling, size))
        return split_plane(filling, number, err);
    struct xspace_slice whole = xspace_whole_plane(filling->space, number);
    add_slice(filling->plan, &whole);
    filling->used += size;
    return true;
}

/* Repeats the plane with the start time of the host in each file: readers align files by it. */
static void repeat_environment(struct xspace_plan *plan, size_t first_file, uint32_t environment)
{
    for (size_t i = first_file; i < plan->files.count; i++) {
        struct xspace_file *file = &plan->files.items[i];
        bool has_it = false;
        for (size_t k = file->first_slice; k < file->end_slice; k++)
            has_it |= plan->slices.items[k].plane == environment;
        file->environment = has_it ? XSPACE_NO_PLANE : environment;
    }
}

/* Upper bound of the size of everything but planes in a file. */
static uint64_t host_size(const struct xspace *space, uint32_t host)
{
    const struct catalog *catalog = space->catalog;
    uint64_t size = MAX_FRAME + 3 * catalog_text(catalog, catalog->hosts.items[host].name).size;
    const struct message *message;
    array_each (message, &catalog->messages)
        if (message->host == host)
            size += MAX_FRAME + 3 * catalog_text(catalog, message->text).size;
    return size + xspace_programs_size(space, host) + xspace_guest_others_size(space);
}

static bool add_host(struct filling *filling, uint32_t host, uint32_t first, uint32_t end,
                     struct error *err)
{
    const struct xspace *space = filling->space;
    uint32_t environment = XSPACE_NO_PLANE;
    size_t first_file = filling->plan->files.count;
    filling->reserved = host_size(space, host);
    for (uint32_t i = first; i < end; i++)
        if (environment == XSPACE_NO_PLANE && xspace_is_environment(space, i))
            environment = i;
    if (environment != XSPACE_NO_PLANE)
        filling->reserved += plane_size(space, &space->planes.items[environment]);
    begin_file(filling, host);
    for (uint32_t i = first; i < end; i++)
        if (!add_plane(filling, i, err))
            return false;
    repeat_environment(filling->plan, first_file, environment);
    return true;
}

bool xspace_plan_files(const struct xspace *space, uint64_t max_bytes, struct xspace_plan *plan,
                       struct error *err)
{
    struct filling filling = {.space = space, .plan = plan, .max_bytes = max_bytes};
    uint32_t first = 0;
    *plan = (struct xspace_plan){0};
    for (uint32_t host = 0; host < space->catalog->hosts.count; host++) {
        uint32_t end = first;
        while (end < space->planes.count && space->planes.items[end].host == host)
            end++;
        if (!add_host(&filling, host, first, end, err)) {
            xspace_plan_free(plan);
            return false;
        }
        first = end;
    }
    return true;
}

void xspace_plan_free(struct xspace_plan *plan)
{
    array_free(&plan->slices);
    array_free(&plan->files);
}
