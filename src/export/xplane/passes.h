/*
 * XPlane, inside the exporter: a profile laid out as the planes and lines it is written as. The way
 * there: lay out (planes and lines), survey (a first read: which names each plane needs), name
 * (metadata ids; all that stands around the lines is encoded), encode (a second read: events become
 * pieces of lines), write (pieces are put together, file by file).
 */
#ifndef KYMO_EXPORT_XPLANE_PASSES_H
#define KYMO_EXPORT_XPLANE_PASSES_H

#include "export/export.h"

#include "wire/wire.h"

/* Fields, message by message. */
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
    XEVENT_METADATA_METADATA = 3,
    XEVENT_METADATA_DISPLAY_NAME = 4,
    XEVENT_METADATA_STATS = 5,
    XEVENT_METADATA_CHILD_ID = 6,
};

/* A part of a line: one event or several, encoded. Those of a line stand in order of `order`, then
 * `tie`, then lane, then `number`. */
struct xspace_piece {
    uint32_t line, lane;
    int64_t order, tie;
    uint64_t number; /* of its first event, within the lane */
    const char *data;
    size_t size;
};

typedef ARRAY(struct xspace_piece) xspace_pieces;

/* A lane, or all counters of a source. */
struct xspace_line {
    uint32_t plane;
    uint32_t lane;   /* the first of them */
    bool is_counter; /* a mix of counters, in order of time */
    bool by_time;    /* each event is a piece, in order of time; or else in that of the source */
    int64_t id, stamp_ns;
    int64_t zero_ps; /* the time of the profile that its events' offsets count from */
    size_t first_piece, end_piece;
};

struct xspace_plane {
    uint32_t host;
    uint32_t source; /* track; TRACK_NONE for a Task Environment that the source does not have */
    size_t first_line, end_line;
    struct idmap stats; /* string -> id of its stat metadata */
    struct idmap types; /* of other formats: event type, or xspace_counter -> id of its metadata */
    int64_t type_unknown;    /* an id that no event metadata has */
    struct text front, back; /* what stands before the lines and behind them, encoded */
};

struct xspace {
    struct source *source;
    const struct catalog *catalog;
    bool is_copy;                      /* of XPlane files: all is written as it was there */
    uint32_t key_unknown;              /* of a copy: key of events' stats whose name is missing */
    ARRAY(struct xspace_plane) planes; /* host by host */
    ARRAY(struct xspace_line) lines;   /* plane by plane */
    uint32_t *line_of;                 /* by track; for lanes */
    ARRAY(char *) blocks;              /* what the pieces lie in */
    xspace_pieces pieces;
};

/* What a plane refers to: strings, event types and, in other formats than this one, counters, which
 * are tracks there and event types here. Plane, kind and number in one, to be sorted. */
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

/* The place of such a counter among the event types. */
static inline uint64_t xspace_counter(uint32_t lane)
{
    return (uint64_t)1 << 32 | lane;
}

/* A piece of those of the whole profile, which may be too many to be in memory; for loops. */
static inline struct xspace_piece *xspace_piece_at(const struct xspace *space, size_t index)
{
    if (index % 1024 == 0)
        mem_touched(1024 * sizeof *space->pieces.items);
    return &space->pieces.items[index];
}

void xspace_lay_out(struct xspace *space);
/* Whether a plane tells when its host started. */
bool xspace_is_environment(const struct xspace *space, uint32_t plane);
/* The first read. */
bool xspace_survey(struct xspace *space, struct pool *pool, xspace_uses *uses, struct error *err);
/* Sorts uses and leaves out those that are there twice. */
void xspace_uses_tidy(xspace_uses *uses);
/* Gives names their ids and encodes what stands around the lines. */
void xspace_name(struct xspace *space, xspace_uses *uses);
/* The second read. */
bool xspace_encode(struct xspace *space, struct pool *pool, struct error *err);

/* Lines of a plane, from one piece to another, that go to one file. A line that is cut is in two.
 */
struct xspace_slice {
    uint32_t plane;
    size_t first_line, end_line, first_piece, end_piece;
};

struct xspace_file {
    uint32_t host;
    bool is_first; /* of its host */
    size_t first_slice, end_slice;
    uint32_t environment; /* the plane that tells when the host started, repeated here; or none */
};

#define XSPACE_NO_PLANE UINT32_MAX

struct xspace_plan {
    ARRAY(struct xspace_slice) slices; /* file by file */
    ARRAY(struct xspace_file) files;   /* host by host, at least one for each */
};

/* Decides what goes to which file, none larger than `largest` bytes. */
bool xspace_plan_files(const struct xspace *space, uint64_t largest, struct xspace_plan *plan,
                       struct error *err);
void xspace_plan_free(struct xspace_plan *plan);
struct xspace_slice xspace_whole_plane(const struct xspace *space, uint32_t plane);
bool xspace_write(const struct xspace *space, const struct xspace_plan *plan, size_t file,
                  struct output *out, struct error *err);

struct text xspace_line_name(const struct xspace *space, const struct xspace_line *line);
struct text xspace_line_display_name(const struct xspace *space, const struct xspace_line *line);
uint64_t xspace_pieces_size(const struct xspace *space, size_t first, size_t end);

/* A stat, as the given field. id 0 is that of a stat whose name is not known. */
void xspace_put_stat(const struct xspace *space, const struct xspace_plane *plane,
                     struct output *out, uint32_t field, uint64_t id, const struct arg *arg);
/* A name or text. Protobuf refuses a whole file for one that is not UTF-8: in all but copies, what
 * is not is replaced. */
void xspace_put_text(const struct xspace *space, struct output *out, uint32_t field,
                     struct text text);

#endif
