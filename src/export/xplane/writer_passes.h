/*
 * Inside the XPlane exporter: a profile as the planes and lines to write. Passes: lay_out (planes
 * and lines), survey (first read: names used by each plane), name (metadata ids; encodes everything
 * around the lines), encode (second read: events become chunks of lines), plan and write (file by
 * file).
 */
#ifndef KYMO_EXPORT_XPLANE_WRITER_PASSES_H
#define KYMO_EXPORT_XPLANE_WRITER_PASSES_H

#include "export/export.h"

#include "base/wire/wire.h"

/* Field numbers, by message. */
enum {
    XSPACE_PLANES = 1,
    XSPACE_ERRORS = 2,
    XSPACE_WARNINGS = 3,
    XSPACE_HOSTNAMES = 4,

    XPLANE_ID = 1,
    XPLANE_NAME = 2,
    XPLANE_LINES = 3,
    XPLANE_EVENT_METADATA = 4,
    XPLANE_STAT_METADATA = 5,
    XPLANE_STATS = 6,

    MAP_KEY = 1,
    MAP_VALUE = 2,

    XLINE_ID = 1,
    XLINE_NAME = 2,
    XLINE_TIMESTAMP_NS = 3,
    XLINE_EVENTS = 4,
    XLINE_DURATION_PS = 9,
    XLINE_DISPLAY_ID = 10,
    XLINE_DISPLAY_NAME = 11,

    XEVENT_METADATA_ID = 1,
    XEVENT_OFFSET_PS = 2,
    XEVENT_DURATION_PS = 3,
    XEVENT_STATS = 4,
    XEVENT_NUM_OCCURRENCES = 5,

    XSTAT_METADATA_ID = 1,
    XSTAT_DOUBLE = 2,
    XSTAT_UINT64 = 3,
    XSTAT_INT64 = 4,
    XSTAT_STR = 5,
    XSTAT_BYTES = 6,
    XSTAT_REF = 7,

    METADATA_ID = 1, /* of XEventMetadata and XStatMetadata */
    METADATA_NAME = 2,
    XSTAT_METADATA_DESCRIPTION = 3,
    XEVENT_METADATA_METADATA = 3,
    XEVENT_METADATA_DISPLAY_NAME = 4,
    XEVENT_METADATA_STATS = 5,
    XEVENT_METADATA_CHILD_ID = 6,
};

/* One or more encoded events of a line. Sorted by line, `order`, `tie`, lane, `number`. */
struct xspace_chunk {
    uint32_t line, lane;
    int64_t order, tie;
    uint64_t number; /* of its first event, in the lane */
    const char *data;
    size_t size;
};

typedef ARRAY(struct xspace_chunk) xspace_chunks;

/* A line of the guest. */
struct xspace_guest_line {
    int64_t id, stamp_ns;
    struct text whole, events; /* with its frame; the fields of the line */
    bool is_merged;            /* into a line of ours */
};

/* A second capture of the same process, which is written with the profile; see guest.c. */
struct xspace_guest {
    struct file file;
    int64_t start_ns; /* of the capture, since the epoch */
    uint32_t plane;   /* ours that its host plane is merged with; or none */
    bool has_host_plane, has_process;
    struct text host_plane;
    ARRAY(struct xspace_guest_line) lines; /* of its host plane */
    ARRAY(struct text) fields;             /* the rest of its host plane */
    ARRAY(struct text) others;             /* the rest of the capture */
    uint64_t most_type, most_stat;         /* largest ids of metadata in its host plane */
    struct intern names;
    struct idmap stats; /* number in names -> id of stat metadata */
    const char *suffix; /* of the names of our planes, or NULL */
};

/* A lane, or all counters of a source. */
struct xspace_line {
    uint32_t plane;
    uint32_t lane;   /* the first of them */
    bool is_counter; /* several counters, in time order */
    bool by_time;    /* each event is a chunk, sorted by time; otherwise in source order */
    int64_t id, stamp_ns;
    int64_t zero_ps;                       /* profile time that event offsets are relative to */
    const struct xspace_guest_line *guest; /* whose events are merged into it; or NULL */
    size_t first_chunk, end_chunk;
    uint64_t chunk_bytes; /* of all its chunks */
};

struct xspace_plane {
    uint32_t host;
    uint32_t source; /* track; TRACK_NONE for a Task Environment added by the exporter */
    size_t first_line, end_line;
    struct idmap stats;       /* string -> index in stat_ids */
    ARRAY(uint64_t) stat_ids; /* of stat metadata; in a copy, those of the source */
    struct idmap types; /* not for copies: event type, or xspace_counter -> id of event metadata */
    int64_t type_unknown, stat_unknown; /* ids that no event metadata, no stat metadata has */
    struct text front, back;            /* encoded fields before and after the lines */
};

/* Stats that XProf looks for, and the args of torch.profiler they are made of. */
enum xprof_stat { XPROF_CORRELATION, XPROF_KERNEL_DETAILS, XPROF_ROOT, XPROF_STEP, XPROF_STATS };
enum xprof_arg {
    XPROF_ARG_CORRELATION,
    XPROF_ARG_GRID,
    XPROF_ARG_BLOCK,
    XPROF_ARG_REGISTERS,
    XPROF_ARG_SHARED,
    XPROF_ARG_OCCUPANCY,
    XPROF_ARGS
};
struct xspace_xprof {
    bool is_needed;
    uint32_t stats[XPROF_STATS], args[XPROF_ARGS]; /* strings; INTERN_NONE for args nothing has */
};

struct xspace {
    struct source *source;
    const struct catalog *catalog;
    bool is_copy;                      /* the source is XPlane: everything is written unchanged */
    uint32_t key_unknown;              /* in copies: key of event stats whose name is missing */
    ARRAY(struct xspace_plane) planes; /* by host */
    ARRAY(struct xspace_line) lines;   /* by plane */
    uint32_t *line_of;                 /* by track, for lanes */
    uint32_t key_value;                /* key of the values of such counters: */
    _Atomic bool *lacks_value;         /* by track: samples do not have their value as first arg */
    ARRAY(char *) blocks;              /* memory of the chunks */
    xspace_chunks chunks;
    struct xspace_xprof xprof;
    struct xspace_guest *guest; /* or NULL */
};

#define XSPACE_NO_PLANE UINT32_MAX

/* References of a plane: strings, event types and, for formats other than XPlane, counters, which
 * are tracks there and event types here. Plane, kind and number packed into one sortable number. */
enum xspace_use { USE_KEY, USE_TEXT, USE_TYPE, USE_COUNTER };
typedef ARRAY(uint64_t) xspace_uses;

static inline uint64_t xspace_use(uint32_t plane, enum xspace_use kind, uint32_t number)
{
    return (uint64_t)plane << 34 | (uint64_t)kind << 32 | number;
}

static inline uint32_t xspace_use_plane(uint64_t use)
{
    return (uint32_t)(use >> 34);
}

static inline enum xspace_use xspace_use_kind(uint64_t use)
{
    return (enum xspace_use)(use >> 32 & 3);
}

static inline uint32_t xspace_use_number(uint64_t use)
{
    return (uint32_t)use;
}

/* The id of the stat metadata that has the string's name. */
static inline uint64_t xspace_stat_id(const struct xspace_plane *plane, uint32_t string)
{
    return plane->stat_ids.items[idmap_get(&plane->stats, string)];
}

/* The key of a counter in xspace_plane.types. */
static inline uint64_t xspace_counter(uint32_t lane)
{
    return (uint64_t)1 << 32 | lane;
}

/* Chunk i of the whole profile; may be backed by a file: for sequential loops. */
static inline struct xspace_chunk *xspace_chunk_at(const struct xspace *space, size_t index)
{
    if (index % 1024 == 0)
        mem_touched(1024 * sizeof *space->chunks.items);
    return &space->chunks.items[index];
}

void xspace_lay_out(struct xspace *space);
/* Whether the plane holds the start time of its host. */
bool xspace_is_environment(const struct xspace *space, uint32_t plane);
/* First read of the source. */
bool xspace_survey(struct xspace *space, struct pool *pool, xspace_uses *uses, struct error *err);
/* Sorts and removes duplicates. */
void xspace_uses_sort_unique(xspace_uses *uses);
/* Assigns metadata ids and encodes everything around the lines. */
void xspace_name(struct xspace *space, xspace_uses *uses);
/* Second read of the source. */
bool xspace_encode(struct xspace *space, struct pool *pool, struct error *err);

/* Lines of a plane, from one chunk to another, that go to one file. A split line is in two
 * slices. */
struct xspace_slice {
    uint32_t plane;
    size_t first_line, end_line, first_chunk, end_chunk;
};

struct xspace_file {
    uint32_t host;
    bool is_first; /* of its host */
    size_t first_slice, end_slice;
    uint32_t environment; /* plane with the start time of the host, repeated here; or none */
};

struct xspace_plan {
    ARRAY(struct xspace_slice) slices; /* by file */
    ARRAY(struct xspace_file) files;   /* by host, at least one each */
};

/* Assigns slices to files of at most `max_bytes`. */
bool xspace_plan_files(const struct xspace *space, uint64_t max_bytes, struct xspace_plan *plan,
                       struct error *err);
void xspace_plan_free(struct xspace_plan *plan);
struct xspace_slice xspace_whole_plane(const struct xspace *space, uint32_t plane);
bool xspace_write(const struct xspace *space, const struct xspace_plan *plan, size_t file,
                  struct output *out, struct error *err);

/* HLO programs of a host, as a plane; an upper bound of its size, 0 without programs. */
uint64_t xspace_programs_size(const struct xspace *space, uint32_t host);
void xspace_write_programs(const struct xspace *space, uint32_t host, struct output *out);

struct text xspace_line_name(const struct xspace *space, const struct xspace_line *line);
struct text xspace_line_display_name(const struct xspace *space, const struct xspace_line *line);
uint64_t xspace_chunks_size(const struct xspace *space, size_t first, size_t end);

bool xspace_guest_open(struct xspace_guest *guest, const char *path, struct error *err);
void xspace_guest_close(struct xspace_guest *guest);
/* The plane of ours that the guest's host plane is merged with. */
void xspace_guest_find_plane(struct xspace *space);
/* A line of ours on the guest's clock, merged with the guest's of its id. */
void xspace_guest_place_line(const struct xspace *space, struct xspace_line *line);
void xspace_guest_add_events(struct xspace *space);
/* The guest's id of a name in a plane that is merged; IDMAP_NONE if it has none. */
uint32_t xspace_guest_stat(const struct xspace *space, const struct xspace_plane *plane,
                           struct text name);
/* Writes the guest's additions to a plane, with or without the lines that are not merged, and to a
 * file. */
uint64_t xspace_guest_plane_size(const struct xspace *space, uint32_t plane, bool with_lines);
void xspace_guest_write_plane(const struct xspace *space, uint32_t plane, bool with_lines,
                              struct output *out);
uint64_t xspace_guest_others_size(const struct xspace *space);
void xspace_guest_write_others(const struct xspace *space, struct output *out);

/* Writes a stat as the given field. */
void xspace_put_stat(const struct xspace *space, const struct xspace_plane *plane,
                     struct output *out, uint32_t field, uint64_t id, const struct arg *arg);
/* Called before the source is read; the keys to name; the stats to add to an event. */
void xspace_xprof_init(struct xspace *space);
void xspace_xprof_uses(const struct xspace *space, xspace_uses *uses);
void xspace_put_xprof_stats(const struct xspace *space, const struct xspace_plane *plane,
                            uint32_t type, const struct arg_list *args, struct output *out);
/* Writes a name or string. Protobuf readers reject a whole file for one invalid UTF-8 string:
 * except in copies, invalid bytes are replaced. */
void xspace_put_text(const struct xspace *space, struct output *out, uint32_t field,
                     struct text text);

#endif
