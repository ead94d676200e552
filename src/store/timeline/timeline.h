/*
 * timeline: an index that answers one query fast, whatever the size of the profile: what to draw
 * for these tracks, this time window and this many pixels. Events of a track are in rows without
 * overlaps: the row is the nesting depth; events that overlap without nesting get additional rows.
 * Events too small to draw are merged, never dropped: every event is in exactly one item of a
 * result.
 */
#ifndef KYMO_STORE_TIMELINE_TIMELINE_H
#define KYMO_STORE_TIMELINE_TIMELINE_H

#include "base/wire/wire.h"

#define TIMELINE_NONE UINT32_MAX

/* A track in the index. Only tracks with events have rows, and those that contain such tracks:
 * theirs is the time that at least one event of a track with `is_work` below them covers. */
struct timeline_track {
    uint32_t parent; /* TIMELINE_NONE: top level */
    uint32_t level;  /* depth in the track tree */
    uint32_t role;   /* defined by the writer */
    uint32_t name;   /* name index */
    uint32_t table;  /* name index of the table its event ids refer to */
    bool is_counter;
    bool is_work;      /* for the writer only: its events are busy time of the tracks it is in */
    uint64_t first_id; /* id of its event 0; the others are consecutive */
    int64_t sort_key;
    uint64_t events; /* set by timeline_add */
    uint32_t first_row, row_count;
};

/*
 * A track's events. `order` lists those with a time, by start, longer first; without it all are
 * timed and stored in that order. Names are indexes from timeline_name, or anything that `names`
 * maps to those. Negative durations count as zero. A counter sample lasts until the next, or for
 * one period where several are missing.
 */
struct timeline_events {
    uint64_t count; /* of `order` if set */
    const uint64_t *order;
    const int64_t *start_ps, *duration_ps;
    const uint32_t *name;
    const uint32_t *names;
    const double *value; /* counters only */
};

struct timeline_writer;

/* No event may start before origin_ps. */
bool timeline_create(struct timeline_writer **writer, const char *path, int64_t origin_ps,
                     struct error *err);
uint32_t timeline_name(struct timeline_writer *writer, struct text name);
uint32_t timeline_add_track(struct timeline_writer *writer, const struct timeline_track *track);
/* The part outside of which nothing is of interest, such as the profiler's own activity. */
void timeline_set_work(struct timeline_writer *writer, int64_t from_ps, int64_t to_ps);
/* Adds the events of a track. Thread-safe, once all names and tracks have been added. */
bool timeline_add(struct timeline_writer *writer, uint32_t track,
                  const struct timeline_events *events, struct error *err);
/* Finishes the index and renames it into place. */
bool timeline_commit(struct timeline_writer *writer, struct error *err);
void timeline_discard(struct timeline_writer *writer);

/* An open index. */
struct timeline;

bool timeline_open(struct timeline **timeline, const char *path, struct error *err);
void timeline_close(struct timeline *timeline);
uint32_t timeline_track_count(const struct timeline *timeline);
const struct timeline_track *timeline_track_at(const struct timeline *timeline, uint32_t track);
struct text timeline_name_at(const struct timeline *timeline, uint32_t name);
/* Releases all pages of the file from memory; queries read what they need again. Thread-safe. */
void timeline_release(struct timeline *timeline);
/* The time range of all events. */
void timeline_span(const struct timeline *timeline, int64_t *first_ps, int64_t *last_ps);
/* The part to open a view with: without a few events far from all others. */
void timeline_focus(const struct timeline *timeline, int64_t *from_ps, int64_t *to_ps);

/* An item to draw: an event, or several that are too small to draw one by one. */
struct timeline_item {
    int64_t start_ps, end_ps; /* start of the first, end of the last */
    uint64_t count;
    union {
        struct {
            int64_t busy_ps;    /* sum of the durations */
            int64_t longest_ps; /* duration of the longest */
            uint64_t id;        /* of the longest */
            uint32_t name;      /* of the longest */
        };
        struct { /* counters */
            double sum, min, max, last;
        };
    };
};

struct timeline_row {
    uint32_t track, row; /* row: 0 is the outermost row of the track */
    size_t first_item, item_count;
};

struct timeline_result {
    ARRAY(struct timeline_row) rows; /* rows without items are omitted */
    ARRAY(struct timeline_item) items;
};

/* A set of event ids: id i is in it if i < count and bit i is set. */
struct timeline_ids {
    const uint64_t *bits;
    uint64_t count;
};

struct timeline_query {
    const uint32_t *tracks;
    size_t track_count;
    int64_t from_ps, to_ps; /* selects events that intersect [from, to) */
    uint32_t width;         /* in pixels, at least 1; a result has at most two items per pixel */
    /* If not NULL, for each of the tracks the ids of the events to select. Unless these are all or
     * none, the cost depends on the events in the window, not on its pixels. Counters are omitted
     * then. */
    const struct timeline_ids *only;
};

/* Thread-safe; each thread needs its own result, so the tracks of one view can be divided among
 * threads. The previous contents of the result are replaced. */
bool timeline_query(struct timeline *timeline, const struct timeline_query *query,
                    struct timeline_result *answer, struct error *err);
void timeline_result_free(struct timeline_result *answer);

/* An event on its track, with its whole length. */
struct timeline_event {
    int64_t start_ps, end_ps;
    uint64_t id;
    uint32_t name;
};

/* The events before and after an event in its row. */
struct timeline_neighbors {
    struct timeline_event previous, next;
    bool has_previous, has_next;
};

/* Of the event with this id and start. Thread-safe. */
bool timeline_neighbors(struct timeline *timeline, uint32_t track, uint32_t row, uint64_t id,
                        int64_t start_ps, struct timeline_neighbors *found, struct error *err);

#define TIMELINE_STOP SIZE_MAX

/*
 * Receives the events of a track that intersect a range, by start, each after those that contain
 * it. Times are those within the range. Time covered by several events is the self time of the one
 * that started last.
 */
struct timeline_visitor {
    /* `outer` is what `open` returned for the innermost event that contains this one, 0 for none.
     * TIMELINE_STOP ends the walk. */
    size_t (*open)(void *context, const struct timeline_event *event, size_t outer);
    void (*close)(void *context, size_t node, int64_t total_ps, int64_t self_ps);
    void *context;
};

/* Visits every event of a track in [from, to); with is_flat, events contain no others. Thread-safe.
 * Not for counters. */
bool timeline_nest(struct timeline *timeline, uint32_t track, int64_t from_ps, int64_t to_ps,
                   bool is_flat, const struct timeline_visitor *visitor, struct error *err);

#endif
