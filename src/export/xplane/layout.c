/*
 * XPlane export: maps sources to planes and lanes to lines. Sources from XPlane files get their
 * original planes and lines; others get those that XProf expects.
 */
#include "export/xplane/writer_passes.h"

enum { PS_PER_NS = 1000 };

/* Ids no thread has: XLA assigns ids from the first one on to lines whose own id is taken; the
 * second is for counter lines. */
static const int64_t FREE_IDS = (int64_t)1 << 32, COUNTER_LINE_ID = INT64_MAX;

/* Lines with a later timestamp (after 2000) carry epoch time, otherwise time since the start. */
static const int64_t EPOCH_TIMES_FROM_NS = 946684800LL * 1000000000;

bool xspace_is_environment(const struct xspace *space, uint32_t plane)
{
    const struct catalog *catalog = space->catalog;
    uint32_t source = space->planes.items[plane].source;
    return source == TRACK_NONE ||
           text_equal(catalog_text(catalog, catalog->tracks.items[source].name),
                      TEXT("Task Environment"));
}

static void add_plane(struct xspace *space, uint32_t host, uint32_t source)
{
    *array_push(&space->planes) = (struct xspace_plane){.host = host, .source = source};
}

/* Hosts of other formats with a known start time get a Task Environment plane, as JAX writes it. */
static void add_task_environments(struct xspace *space)
{
    const struct catalog *catalog = space->catalog;
    size_t sources = space->planes.count;
    bool *has_environment = mem_zeroed(catalog->hosts.count, sizeof *has_environment);
    for (uint32_t i = 0; i < sources; i++)
        has_environment[space->planes.items[i].host] |= xspace_is_environment(space, i);
    for (uint32_t host = 0; host < catalog->hosts.count; host++)
        if (!has_environment[host] && catalog->hosts.items[host].start_epoch_ns != TIME_UNSET)
            add_plane(space, host, TRACK_NONE);
    mem_free(has_environment);
}

/* In the order of the source; a plane that was added comes last. */
static bool plane_before(const void *left, const void *right, const void *context)
{
    (void)context;
    const struct xspace_plane *a = left, *b = right;
    return a->host != b->host ? a->host < b->host : a->source < b->source;
}

static void add_planes(struct xspace *space)
{
    const struct catalog *catalog = space->catalog;
    for (uint32_t i = 0; i < catalog->tracks.count; i++)
        if (catalog->tracks.items[i].level == TRACK_SOURCE)
            add_plane(space, catalog->tracks.items[i].host, i);
    if (!space->is_copy && !space->guest)
        add_task_environments(space);
    sort_items(space->planes.items, space->planes.count, sizeof *space->planes.items, plane_before,
               NULL);
}

struct plane_lane {
    uint32_t plane, lane;
    int64_t sort_key;
};

typedef ARRAY(struct plane_lane) plane_lanes;

static bool lane_before(const void *left, const void *right, const void *context)
{
    (void)context;
    const struct plane_lane *a = left, *b = right;
    if (a->plane != b->plane)
        return a->plane < b->plane;
    return a->sort_key != b->sort_key ? a->sort_key < b->sort_key : a->lane < b->lane;
}

static void find_lanes(const struct xspace *space, plane_lanes *lanes)
{
    const struct catalog *catalog = space->catalog;
    uint32_t *plane_of = mem_zeroed(catalog->tracks.count, sizeof *plane_of);
    for (uint32_t i = 0; i < space->planes.count; i++)
        if (space->planes.items[i].source != TRACK_NONE)
            plane_of[space->planes.items[i].source] = i;
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (track->level != TRACK_LANE)
            continue;
        bool to_end = !space->is_copy && track->lane == LANE_COUNTER;
        *array_push(lanes) =
            (struct plane_lane){plane_of[track->parent], i, to_end ? INT64_MAX : track->sort_key};
    }
    mem_free(plane_of);
    sort_items(lanes->items, lanes->count, sizeof *lanes->items, lane_before, NULL);
}

/* Whether a lane belongs to the line added last: the importer creates a lane for each counter of a
 * line, and other formats have no counter lines. */
static bool joins_line(const struct xspace *space, const struct plane_lane *lane)
{
    if (space->lines.count == 0)
        return false;
    const struct xspace_line *line = &space->lines.items[space->lines.count - 1];
    const struct track *tracks = space->catalog->tracks.items;
    const struct track *last = &tracks[line->lane], *track = &tracks[lane->lane];
    if (line->plane != lane->plane || !line->is_counter || track->lane != LANE_COUNTER)
        return false;
    return !space->is_copy || (last->sort_key == track->sort_key && last->name == track->name);
}

/*
 * The profile time that event offsets of a line with this timestamp are relative to: the inverse of
 * the importer's shift (see import/xplane/align.c).
 */
static int64_t line_zero_ps(const struct host *host, int64_t stamp_ns)
{
    bool is_epoch = stamp_ns >= host->start_epoch_ns || stamp_ns >= EPOCH_TIMES_FROM_NS;
    if (host->start_epoch_ns != TIME_UNSET && host->start_epoch_ns > 0 && is_epoch)
        stamp_ns -= host->start_epoch_ns;
    return (int64_t)((uint64_t)stamp_ns * PS_PER_NS + (uint64_t)host->shift_ps);
}

static void copy_stamp(const struct xspace *space, struct xspace_line *line)
{
    const struct catalog *catalog = space->catalog;
    const struct track *track = &catalog->tracks.items[line->lane];
    const struct host *host = &catalog->hosts.items[space->planes.items[line->plane].host];
    const struct arg *stamp = catalog_arg(catalog, &track->args, TEXT("timestamp_ns"));
    line->id = track->id;
    line->stamp_ns = stamp ? arg_integer(stamp) : 0;
    line->zero_ps = line_zero_ps(host, line->stamp_ns);
}

/* Line ids used in a plane. */
struct line_ids {
    struct idmap used_ids;
    int64_t next; /* replacement for an id that is taken */
};

/* XProf merges lines of equal id. */
static int64_t take_id(struct line_ids *ids, int64_t id)
{
    while (idmap_get(&ids->used_ids, (uint64_t)id) != IDMAP_NONE)
        id = ids->next++;
    idmap_put(&ids->used_ids, (uint64_t)id, 1);
    return id;
}

static void add_line(struct xspace *space, const struct plane_lane *lane, struct line_ids *ids)
{
    const struct catalog *catalog = space->catalog;
    const struct track *track = &catalog->tracks.items[lane->lane];
    bool is_counter = track->lane == LANE_COUNTER;
    struct xspace_line line = {.plane = lane->plane,
                               .lane = lane->lane,
                               .is_counter = is_counter,
                               .by_time = is_counter || !space->is_copy};
    if (space->is_copy) {
        copy_stamp(space, &line);
    } else {
        line.id = take_id(ids, is_counter ? COUNTER_LINE_ID : track->id);
        line.zero_ps = catalog->hosts.items[space->planes.items[lane->plane].host].shift_ps;
        if (space->guest)
            xspace_guest_place_line(space, &line);
    }
    *array_push(&space->lines) = line;
}

static void add_lines(struct xspace *space)
{
    plane_lanes lanes = {0};
    find_lanes(space, &lanes);
    size_t next = 0;
    for (uint32_t i = 0; i < space->planes.count; i++) {
        struct xspace_plane *plane = &space->planes.items[i];
        struct line_ids ids = {.next = FREE_IDS};
        plane->first_line = space->lines.count;
        for (; next < lanes.count && lanes.items[next].plane == i; next++) {
            const struct plane_lane *lane = &lanes.items[next];
            if (!joins_line(space, lane))
                add_line(space, lane, &ids);
            space->line_of[lane->lane] = (uint32_t)(space->lines.count - 1);
        }
        plane->end_line = space->lines.count;
        idmap_free(&ids.used_ids);
    }
    array_free(&lanes);
}

void xspace_lay_out(struct xspace *space)
{
    space->line_of = mem_zeroed(space->catalog->tracks.count, sizeof *space->line_of);
    add_planes(space);
    xspace_guest_find_plane(space);
    add_lines(space);
}
