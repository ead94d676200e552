/*
 * XPlane, internal to the importer: the results of the first pass (layout), used by the second
 * (decode). The format: XSpace > XPlane > XLine > XEvent > XStat; names are in maps of the plane
 * that the writer puts after its lines, hence two passes.
 */
#ifndef KYMO_IMPORT_XPLANE_XPLANE_PASSES_H
#define KYMO_IMPORT_XPLANE_XPLANE_PASSES_H

#include "base/wire/wire.h"
#include "import/import.h"

/* Tags of the fields, message by message. */
enum {
    XSPACE_PLANES = PB_TAG(1, PB_BYTES),
    XSPACE_ERRORS = PB_TAG(2, PB_BYTES),
    XSPACE_WARNINGS = PB_TAG(3, PB_BYTES),
    XSPACE_HOSTNAMES = PB_TAG(4, PB_BYTES),

    XPLANE_ID = PB_TAG(1, PB_VARINT),
    XPLANE_NAME = PB_TAG(2, PB_BYTES),
    XPLANE_LINES = PB_TAG(3, PB_BYTES),
    XPLANE_EVENT_METADATA = PB_TAG(4, PB_BYTES),
    XPLANE_STAT_METADATA = PB_TAG(5, PB_BYTES),
    XPLANE_STATS = PB_TAG(6, PB_BYTES),

    MAP_KEY = PB_TAG(1, PB_VARINT),
    MAP_VALUE = PB_TAG(2, PB_BYTES),

    XLINE_ID = PB_TAG(1, PB_VARINT),
    XLINE_NAME = PB_TAG(2, PB_BYTES),
    XLINE_TIMESTAMP_NS = PB_TAG(3, PB_VARINT),
    XLINE_EVENTS = PB_TAG(4, PB_BYTES),
    XLINE_DURATION_PS = PB_TAG(9, PB_VARINT),
    XLINE_DISPLAY_ID = PB_TAG(10, PB_VARINT),
    XLINE_DISPLAY_NAME = PB_TAG(11, PB_BYTES),

    XEVENT_METADATA_ID = PB_TAG(1, PB_VARINT),
    XEVENT_OFFSET_PS = PB_TAG(2, PB_VARINT),
    XEVENT_DURATION_PS = PB_TAG(3, PB_VARINT),
    XEVENT_STATS = PB_TAG(4, PB_BYTES),
    XEVENT_NUM_OCCURRENCES = PB_TAG(5, PB_VARINT),

    XSTAT_METADATA_ID = PB_TAG(1, PB_VARINT),
    XSTAT_DOUBLE = PB_TAG(2, PB_FIXED64),
    XSTAT_UINT64 = PB_TAG(3, PB_VARINT),
    XSTAT_INT64 = PB_TAG(4, PB_VARINT),
    XSTAT_STR = PB_TAG(5, PB_BYTES),
    XSTAT_BYTES = PB_TAG(6, PB_BYTES),
    XSTAT_REF = PB_TAG(7, PB_VARINT),

    XEVENT_METADATA_NAME = PB_TAG(2, PB_BYTES),
    XEVENT_METADATA_METADATA = PB_TAG(3, PB_BYTES),
    XEVENT_METADATA_DISPLAY_NAME = PB_TAG(4, PB_BYTES),
    XEVENT_METADATA_STATS = PB_TAG(5, PB_BYTES),
    XEVENT_METADATA_CHILD_IDS = PB_TAG(6, PB_BYTES), /* packed */
    XEVENT_METADATA_CHILD_ID = PB_TAG(6, PB_VARINT),

    XSTAT_METADATA_NAME = PB_TAG(2, PB_BYTES),
    XSTAT_METADATA_DESCRIPTION = PB_TAG(3, PB_BYTES),
};

struct xplane_file {
    struct file map;
    uint8_t *unpacked; /* NULL when the mapping itself is read */
    const char *path;
    const uint8_t *data;
    size_t size;
};

enum { USUAL_KEYS = 128 }; /* metadata ids of one byte */

struct xplane_plane {
    uint32_t file, track;
    uint32_t key_unknown; /* name of a stat without metadata */
    uint32_t *usual_keys; /* strings of the small metadata ids, key_unknown where it is missing */
    struct idmap strings; /* stat metadata id -> string: names of stats, referenced texts */
    struct idmap types;   /* event metadata id -> event type */
};

/* A run of whole XLine fields with events of one lane; they fit one batch, except for counters. */
struct xplane_chunk {
    const uint8_t *data;
    size_t size;
    uint32_t plane, track;
    uint64_t first;
    uint64_t count;
    const uint8_t **events; /* counter lanes: positions of their events; NULL for all in the run */
    int64_t stamp_ns;       /* of the line, as written */
    int64_t base_ps;        /* as time of the profile, added to every offset */
};

struct xplane_line {
    const uint8_t *data;
    size_t size;
    uint32_t plane;
    uint64_t id, display_id;
    int64_t timestamp_ns, duration_ps;
    struct text name, display_name;
    uint64_t events;
    ARRAY(struct xplane_chunk) chunks;
    struct pb_reader problem; /* position and error if the line is malformed */
};

struct xplane_source {
    struct source source;
    ARRAY(struct xplane_file) files;
    ARRAY(struct xplane_plane) planes;
    ARRAY(struct xplane_line) lines;
    size_t laid_out; /* lines that are tracks already */
    ARRAY(struct xplane_chunk) chunks;
};

/* Whether all planes and lines so far are within the limits on what a file may declare. */
static inline bool xplane_is_within(const struct xplane_source *source, const char *path,
                                    struct error *err)
{
    return catalog_check(&source->source.catalog, source->lines.count - source->laid_out, path,
                         err);
}

/* Part of the first pass: converts a file's lines that are not laid out yet to lanes and chunks.
 * Fails without a problem of the reader when there are too many. */
bool xplane_lines(struct xplane_source *source, uint32_t file, struct pool *pool,
                  struct pb_reader *failed);

/* First pass over one file: fills the catalog and the chunks. */
bool xplane_layout(struct xplane_source *source, uint32_t file, const char *label,
                   struct pool *pool, struct error *err);
/* After all files: aligns the hosts and sets every chunk's time base. */
bool xplane_align(struct xplane_source *source, struct error *err);
/* Second pass, over all files. */
bool xplane_decode(struct source *source, struct sink *sink, struct pool *pool, struct error *err);

/* Converts a stat to an arg; the reader covers the XStat message. */
bool xplane_stat(const struct xplane_plane *plane, struct pb_reader *in, uint64_t *metadata_id,
                 struct arg *arg);

bool xplane_damaged(const struct xplane_file *file, const uint8_t *at, const char *problem,
                    struct error *err);

#endif
