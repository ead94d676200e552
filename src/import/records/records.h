/*
 * Records, internal to the importers: iterates over JSON documents that are one object with lists
 * of records and metadata around them, and batches events that come one by one, of any lane in any
 * order. Single-threaded, with memory independent of the file's size.
 */
#ifndef KYMO_IMPORT_RECORDS_RECORDS_H
#define KYMO_IMPORT_RECORDS_RECORDS_H

#include "import/json_file.h"

/* Whether a list contains records, by its key and its first item, if any; other lists are
 * metadata. */
typedef bool walk_is_records(struct text key, const struct json_value *first);

/* An iterator over a document's records and metadata. */
struct json_walk {
    const struct json_file *file;
    struct json_reader in;
    walk_is_records *is_records;
    bool is_reread;        /* validated by an earlier pass */
    struct json_value key; /* of the list or metadata */
    enum { WALK_START, WALK_IN_OBJECT, WALK_RECORDS, WALK_DONE } state;
    bool has_records, at_first;
    bool is_cut_off;        /* the file is truncated, after some records */
    const char *unreleased; /* start of the part read and not yet released */
};

enum walk_found { WALK_END, WALK_FACT, WALK_RECORD };

void walk_begin(struct json_walk *walk, const struct json_file *file, walk_is_records *is_records,
                bool is_reread);
/* The next record or metadata value; at the end walk->in.problem is the error, if any. */
enum walk_found walk_next(struct json_walk *walk, struct json_value *value);

/* A record's members, keys as strings of the catalog. */
struct member {
    uint32_t key;
    bool is_inner; /* from the spread object */
    struct json_value value;
};

enum { RECORD_KNOWN = 64 };

/* An optional number. */
struct optional {
    bool has_value;
    int64_t number; /* 0 when it is missing */
};

/* A parsed record. Known keys are the catalog's first strings; their values are found without a
 * search. */
struct record {
    struct catalog *catalog;
    bool is_reread; /* unknown keys are an error, not added: the file has changed */
    ARRAY(struct member) members;
    uint64_t present, inner; /* bit sets of known keys: exists; exists only in the spread object */
    struct json_value known[RECORD_KNOWN];
    ARRAY(uint32_t) guesses; /* keys by position: records of a type have the same keys */
    struct output text;      /* buffer for an escaped key or name */
};

extern const char RECORD_CHANGED[];
/* Adds the known keys after the first, which is empty, as the catalog's first strings. */
void record_add_keys(struct catalog *catalog, const char *const *keys, uint32_t count);
void record_free(struct record *record);
/* Parses an object's members; the object under the key `spread`, if there is one, is replaced by
 * its members. */
bool record_read(struct record *record, const struct json_value *object, uint32_t spread,
                 struct json_reader *in);
/* The value of a known key, NULL when missing; includes those of the spread object. */
const struct json_value *record_value(const struct record *record, uint32_t key);
/* An integer, possibly quoted. */
struct optional record_whole(const struct record *record, uint32_t key);
/* Adds a string to the catalog; INTERN_NONE when the file has changed. */
uint32_t record_string(struct record *record, const struct json_value *value);

/*
 * The times of a file, in nanoseconds since 1970 or any other origin. A first pass samples them to
 * find their range; outliers, mostly 0, are clamped to 104 days around it, which is what fits in 64
 * bits of picoseconds.
 */
struct time_span {
    ARRAY(int64_t) sample;
    int64_t anchor_ns;
    int64_t first_ns, last_ns; /* first > last when there are none */
    uint64_t far, timeless;
};

void span_sample(struct time_span *span, int64_t time_ns);
void span_settle(struct time_span *span);
/* Clamps a time, so that its picoseconds since span->first_ns fit as well. */
int64_t span_near(struct time_span *span, int64_t time_ns);
void span_add(struct time_span *span, int64_t start_ns, int64_t end_ns);
/* Sets the host's start and end, if times count from 1970. */
void span_set_host(const struct time_span *span, struct host *host);
void span_messages(const struct time_span *span, struct catalog *catalog, uint32_t file);
void span_free(struct time_span *span);

/* Lanes by key: any bytes. */
struct lane_table {
    struct intern keys; /* id 0 is the empty string, as track 0 is an instance */
    ARRAY(uint32_t) tracks;
};

void lane_table_init(struct lane_table *table);
void lane_table_free(struct lane_table *table);
/* The track, or TRACK_NONE if it does not exist yet. */
uint32_t lane_table_find(const struct lane_table *table, const void *key, size_t size);
void lane_table_add(struct lane_table *table, const void *key, size_t size, uint32_t track);

/* One event. Its args are those added to the pusher since the previous event. */
struct push {
    uint32_t track, type;
    int64_t start_ps, duration_ps;
    int64_t occurrences; /* OCCURRENCES_TIMED */
    double value;        /* on counter lanes */
    uint32_t arg_end;    /* set by pusher_add */
};

struct pusher {
    const struct catalog *catalog;
    const uint64_t *expected; /* by track: how many events it has */
    struct sink *sink;
    arg_buffer args;
    struct arena texts;
    ARRAY(struct push) events;
    uint64_t *next;         /* by track: the index of its next event */
    uint32_t *count;        /* by track: pending events */
    ARRAY(uint32_t) tracks; /* tracks with pending events */
    uint32_t *order;        /* pending events sorted by track */
    struct batch batch;
    uint64_t flushes;
};

void pusher_begin(struct pusher *pusher, const struct catalog *catalog, const uint64_t *expected,
                  struct sink *sink);
/* Adds an arg to the next event. */
bool pusher_arg(struct pusher *pusher, uint32_t key, const struct json_value *value);
/* False when the sink fails, or when a track gets more events than expected. */
bool pusher_add(struct pusher *pusher, const struct push *event, struct error *err);
/* Flushes the rest if ok; otherwise cancels the sink. */
bool pusher_end(struct pusher *pusher, bool ok, struct error *err);

/* A source whose files are read one by one; embedded as an importer's first member. */
struct record_source {
    struct source source;
    json_file_list files;
    struct lane_table lanes;
    struct idmap types; /* string -> type */
    uint64_t *expected; /* by track: its events, as filters change the catalog's counts */
    bool (*read_file)(struct record_source *source, uint32_t file, struct pusher *pusher,
                      struct error *err);
};

/* Fields that are 0 stay 0. For the keys see record_add_keys. */
void record_source_init(struct record_source *source, const char *format, const char *const *keys,
                        uint32_t key_count);
/* After all files were added; frees the source unless ok. */
bool record_source_finish(struct record_source *source, bool ok, struct source **result);
void record_source_free(struct record_source *source);

#endif
