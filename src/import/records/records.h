/*
 * Records, inside the importers: JSON documents that are one object with lists of records in it and
 * facts around them, and events that come one by one, of any lane in any order, on their way into
 * batches. All of it for one thread, in memory that does not grow with the file.
 */
#ifndef KYMO_IMPORT_RECORDS_RECORDS_H
#define KYMO_IMPORT_RECORDS_RECORDS_H

#include "import/json_file.h"

/* Whether a list is one of records, by its key and its first item, if it has one; others are
 * facts. */
typedef bool walk_is_records(struct text key, const struct json_value *first);

/* A walk over a document: record by record, fact by fact. */
struct json_walk {
    const struct json_file *file;
    struct json_reader in;
    walk_is_records *is_records;
    bool is_again;         /* it was checked by a walk before */
    struct json_value key; /* of the list or fact */
    enum { WALK_START, WALK_BEHIND_FACT, WALK_RECORDS, WALK_OVER } state;
    bool has_records, at_first;
    bool is_cut_off;  /* the file ends too early, behind some records */
    const char *held; /* what was read and is still in memory begins here */
};

enum walk_found { WALK_END, WALK_FACT, WALK_RECORD };

void walk_begin(struct json_walk *walk, const struct json_file *file, walk_is_records *is_records,
                bool is_again);
/* The next record or fact; at the end walk->in.problem says whether it is a bad one. */
enum walk_found walk_next(struct json_walk *walk, struct json_value *value);

/* A record's members, keys as strings of the catalog. */
struct member {
    uint32_t key;
    bool is_inner; /* of the object that was spread */
    struct json_value value;
};

enum { RECORD_KNOWN = 64 };

/* A number that may be missing. */
struct maybe {
    bool is_there;
    int64_t number; /* 0 when it is missing */
};

/* Keys with a meaning are the catalog's first strings; their values are found without a search. */
struct record {
    struct catalog *catalog;
    bool is_again; /* keys that the catalog does not know are not added: the file has changed */
    ARRAY(struct member) members;
    uint64_t present,
        inner; /* bits of known keys: is there; is only in the object that was spread */
    struct json_value known[RECORD_KNOWN];
    ARRAY(uint32_t) guesses; /* keys by position: records of a kind are all alike */
    struct output text;      /* an escaped key or name */
};

extern const char RECORD_CHANGED[];
/* Makes the texts behind the first the catalog's first strings, by their place in the list. */
void record_know(struct catalog *catalog, const char *const *keys, uint32_t count);
void record_free(struct record *record);
/* The members of an object; those of the object under the key `spread`, if there is one, take its
 * place. */
bool record_read(struct record *record, const struct json_value *object, uint32_t spread,
                 struct json_reader *in);
/* The value of a known key, NULL when there is none; also of the object that was spread. */
const struct json_value *record_value(const struct record *record, uint32_t key);
/* A whole number, also in quotes. */
struct maybe record_whole(const struct record *record, uint32_t key);
/* A text in the catalog, INTERN_NONE when the file has changed. */
uint32_t record_string(struct record *record, const struct json_value *value);

/*
 * The times of a file, in nanoseconds since 1970 or since anything. A first look at some of them
 * tells where they lie; one that is far away, mostly because it is 0, is moved to the nearest end
 * of the 104 days around, which is as much as fits.
 */
struct time_span {
    ARRAY(int64_t) sample;
    int64_t anchor_ns;
    int64_t first_ns, last_ns; /* first > last when there are none */
    uint64_t far, timeless;
};

void span_sample(struct time_span *span, int64_t time_ns);
void span_settle(struct time_span *span);
/* The time, or the nearest one that fits; a number in picoseconds since span->first_ns fits too. */
int64_t span_near(struct time_span *span, int64_t time_ns);
void span_add(struct time_span *span, int64_t start_ns, int64_t end_ns);
/* Tells the host when the file began and ended, if its times count from 1970. */
void span_tell(const struct time_span *span, struct host *host);
void span_messages(const struct time_span *span, struct catalog *catalog, uint32_t file);
void span_free(struct time_span *span);

/* Lanes by what makes them one: any bytes. */
struct lane_table {
    struct intern keys; /* number 0 is the empty text, as track 0 is an instance */
    ARRAY(uint32_t) tracks;
};

void lane_table_init(struct lane_table *table);
void lane_table_free(struct lane_table *table);
/* The track, or TRACK_NONE when it is not known yet. */
uint32_t lane_table_find(const struct lane_table *table, const void *key, size_t size);
void lane_table_add(struct lane_table *table, const void *key, size_t size, uint32_t track);

/* One event. Its args are those added to the pusher since the one before. */
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
    uint64_t *next;         /* by track: the number of its next event */
    uint32_t *count;        /* by track: events that wait */
    ARRAY(uint32_t) tracks; /* that have such */
    uint32_t *order;        /* of the events, by track */
    struct batch batch;
    uint64_t flushes;
};

void pusher_begin(struct pusher *pusher, const struct catalog *catalog, const uint64_t *expected,
                  struct sink *sink);
/* A value as an arg of the event to come. */
bool pusher_arg(struct pusher *pusher, uint32_t key, const struct json_value *value);
/* False when the sink fails, or when there are more events on a track than it should have. */
bool pusher_add(struct pusher *pusher, const struct push *event, struct error *err);
/* The rest, when all went well; else the sink is told. */
bool pusher_end(struct pusher *pusher, bool ok, struct error *err);

/* A source whose files are read one after the other; the first member of an importer's own. */
struct record_source {
    struct source source;
    json_file_list files;
    struct lane_table lanes;
    struct idmap types; /* string -> type */
    uint64_t *expected; /* by track: its events; filters change what the catalog says */
    bool (*read_file)(struct record_source *source, uint32_t file, struct pusher *pusher,
                      struct error *err);
};

/* What is 0 in it stays 0. The keys are known ones, see record_know. */
void record_source_init(struct record_source *source, const char *format, const char *const *keys,
                        uint32_t key_count);
/* When all files were added: a source that can be read, or none. */
bool record_source_finish(struct record_source *source, bool ok, struct source **result);
void record_source_free(struct record_source *source);

#endif
