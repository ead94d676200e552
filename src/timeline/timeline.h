/*
 * timeline: the index that answers one question fast, whatever the size of the profile: what to
 * draw for these tracks, this window, this many pixels. Events of a track lie in rows in which none
 * overlap: the row is the depth of nesting; what overlaps without nesting gets rows of its own.
 * What is too small to draw is added up, never dropped: every event is in exactly one item of an
 * answer.
 */
#ifndef KYMO_TIMELINE_H
#define KYMO_TIMELINE_H

#include "wire/wire.h"

#define TIMELINE_NONE UINT32_MAX

/* A track as the index describes it. Only tracks that hold events have rows. */
struct timeline_track {
    uint32_t parent; /* TIMELINE_NONE for the outermost */
    uint32_t level;  /* depth in the tree of tracks */
    uint32_t role;   /* what its maker calls it */
    uint32_t name;   /* number of its name */
    uint32_t table;  /* number of the name of the table its ids belong to */
    bool is_counter;
    uint64_t first_id; /* id of its event number 0; the others follow */
    int64_t sort_key;
    uint64_t events; /* set by timeline_add */
    uint32_t first_row, row_count;
};

/*
 * A track's events. `order` lists the numbers of those that have a time, by start, the longer
 * first; without it all have one and lie in that order. Names are numbers: those of timeline_name,
 * or of anything that `names` translates into them. Durations below zero count as zero. Of counters
 * each sample lasts until the next.
 */
struct timeline_events {
    uint64_t count; /* of order, where there is one */
    const uint64_t *order;
    const int64_t *start_ps, *duration_ps;
    const uint32_t *name;
    const uint32_t *names;
    const double *value; /* counters only */
};

struct timeline_writer;

/* Times must not lie before origin_ps. */
bool timeline_create(struct timeline_writer **writer, const char *path, int64_t origin_ps,
                     struct error *err);
uint32_t timeline_name(struct timeline_writer *writer, struct text name);
uint32_t timeline_add_track(struct timeline_writer *writer, const struct timeline_track *track);
/* The events of one track; from several threads at once, when all names and tracks are known. */
bool timeline_add(struct timeline_writer *writer, uint32_t track,
                  const struct timeline_events *events, struct error *err);
/* Ends the index and puts it in its place. */
bool timeline_commit(struct timeline_writer *writer, struct error *err);
void timeline_discard(struct timeline_writer *writer);

/* An index that was opened. */
struct timeline;

bool timeline_open(struct timeline **timeline, const char *path, struct error *err);
void timeline_close(struct timeline *timeline);
uint32_t timeline_track_count(const struct timeline *timeline);
const struct timeline_track *timeline_track_at(const struct timeline *timeline, uint32_t track);
struct text timeline_name_at(const struct timeline *timeline, uint32_t name);
/* Lets all of the file's pages go; those who ask bring back what they need. From any thread. */
void timeline_rest(struct timeline *timeline);
/* The time all events lie in. */
void timeline_span(const struct timeline *timeline, int64_t *first_ps, int64_t *last_ps);

/* One thing to draw: an event, or several that are too small to draw one by one. */
struct timeline_item {
    int64_t start_ps, end_ps; /* from the first one's start to the last one's end */
    uint64_t count;
    union {
        struct {
            int64_t busy_ps;    /* the sum of their durations */
            int64_t longest_ps; /* duration of the longest */
            uint64_t id;        /* of the longest */
            uint32_t name;      /* of the longest */
        };
        struct { /* counters */
            double sum, least, most, last;
        };
    };
};

struct timeline_row {
    uint32_t track, row; /* row: from 0, the outermost, within the track */
    size_t first_item, item_count;
};

struct timeline_answer {
    ARRAY(struct timeline_row) rows; /* rows without items are left out */
    ARRAY(struct timeline_item) items;
};

struct timeline_query {
    const uint32_t *tracks;
    size_t track_count;
    int64_t from_ps, to_ps; /* events that reach into [from, to) */
    uint32_t width;         /* in pixels, at least 1; an answer has at most two items a pixel */
};

/* From any number of threads, each with its own answer: the tracks of one picture can be shared
 * out. What the answer held before is replaced. */
bool timeline_query(struct timeline *timeline, const struct timeline_query *query,
                    struct timeline_answer *answer, struct error *err);
void timeline_answer_free(struct timeline_answer *answer);

#endif
