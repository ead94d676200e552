/*
 * Chrome trace JSON, internal to the importer: the results of the first pass (survey), used by the
 * second (decode). The format: an object with a list "traceEvents" and metadata around it, or just
 * the list. Every event names its own process, thread, category and phase, in any order of events
 * and keys, so both passes parse whole events; their lookups are the same.
 */
#ifndef KYMO_IMPORT_CHROME_CHROME_PASSES_H
#define KYMO_IMPORT_CHROME_CHROME_PASSES_H

#include "import/json_file.h"

/* Process and thread ids are numbers or texts. */
enum chrome_id_form { ID_NONE, ID_NUMBER, ID_TEXT };

struct chrome_id {
    enum chrome_id_form form;
    int64_t value; /* the number, or the text's id in the tables */
};

/* Where an event happened, according to its category. */
enum chrome_work { WORK_UNKNOWN, WORK_HOST, WORK_DEVICE, WORK_ASIDE };

/* Events of one class may share a lane; the tracks are decided once the whole file was read. */
enum chrome_class {
    CLASS_THREAD,  /* on a thread */
    CLASS_HOST,    /* on a thread that certainly runs on the host */
    CLASS_STREAM,  /* device work, on the stream it names */
    CLASS_QUEUED,  /* names a stream: device work if its process is a device */
    CLASS_ASIDE,   /* on a device, but not work */
    CLASS_FLOW,    /* an end of a flow */
    CLASS_ASYNC,   /* of a category */
    CLASS_COUNTER, /* one series of a counter */
};

struct chrome_lane {
    uint32_t file;
    uint8_t class, pid_form, tid_form, zero;
    int64_t pid, tid;        /* tid: a counter's id instead of a thread */
    uint32_t detail, series; /* detail: text or type, by class; series: text, of a counter */
};
static_assert(sizeof(struct chrome_lane) == 32, "compared by its bytes, so without padding");

/* Interned texts as written in the file, or in a canonical form that only escapes backslashes. */
struct chrome_tables {
    struct intern texts;  /* keys of args, ids, categories */
    struct intern types;  /* category and name, combined by type_text */
    struct intern lanes;  /* the bytes of struct chrome_lane */
    ARRAY(uint8_t) works; /* by type: enum chrome_work */
    ARRAY(bool) slices;   /* by type: whether some of its events are not ends of flows */
};

/* Texts that every table has, under the same ids. */
enum {
    CHROME_EMPTY,
    CHROME_STREAM,
    CHROME_PHASE,
    CHROME_TIME,
    CHROME_DURATION,
    CHROME_NAME,
    CHROME_CATEGORY,
    CHROME_ARGS,
    CHROME_PRODUCER_TYPE,
    CHROME_PRODUCER,
    CHROME_CONSUMER_TYPE,
    CHROME_CONSUMER,
};

void chrome_tables_init(struct chrome_tables *tables);
void chrome_tables_free(struct chrome_tables *tables);

/* The key that followed another one last time. */
enum { CHROME_GUESS_SIZE = 40 };
struct chrome_guess {
    uint32_t key, size; /* the size without the closing quote; 0 for no guess */
    char text[CHROME_GUESS_SIZE];
};

enum { CHROME_TYPE_CACHE = 1024 };

/* A parser of events: one for each worker of a pass. */
struct chrome_reader {
    struct json_reader in;
    struct chrome_tables *tables;
    bool is_first_pass; /* adds unknown entries to the tables; later, an unknown entry means the
                           file has changed */
    uint32_t file;
    int64_t anchor_us;
    arg_buffer args;                        /* of the events read so far */
    struct arena texts;                     /* unescaped */
    struct chrome_guess *followers;         /* by key */
    uint8_t field_followers[16];            /* the same for the fields of an event */
    uint32_t type_cache[CHROME_TYPE_CACHE]; /* by hash; 0 for none */
    struct output type_text;
    struct chrome_lane last_key; /* usually that of the next event as well */
    uint32_t last_lane;
};

struct chrome_event {
    const char *start;
    char phase; /* 0 when missing or longer than one letter */
    bool is_empty;
    bool has_time;
    bool is_far; /* more than 53 days from the anchor: the time is clamped */
    bool has_stream;
    bool has_duration;
    struct json_value phase_text, name, category, id, scope; /* no data when missing */
    struct json_number time, duration;
    struct chrome_id pid, tid;
    int64_t time_ps, duration_ps; /* time_ps: since the anchor */
    int64_t stream;
    size_t first_arg;
    size_t args_begin, args_end; /* the range of "args" */
};

void chrome_reader_init(struct chrome_reader *reader, struct chrome_tables *tables,
                        bool is_first_pass);
void chrome_reader_free(struct chrome_reader *reader);

/* Parses one event; its args and unknown members are appended to reader->args. */
bool chrome_read_event(struct chrome_reader *reader, struct chrome_event *event);
/* Skips separators between events; false at the end of the chunk or on error. */
bool chrome_next_event(struct chrome_reader *reader, bool *after_event);

/* Looks up an id in the tables; INTERN_NONE when the file has changed. */
extern const char CHROME_CHANGED[];
uint32_t chrome_find_text(struct chrome_reader *reader, const struct json_value *value);
uint32_t chrome_find_type(struct chrome_reader *reader, const struct chrome_event *event);
uint32_t chrome_find_lane(struct chrome_reader *reader, const struct chrome_event *event,
                          uint32_t type, uint32_t series);
/* The id of a process or thread. */
bool chrome_make_id(struct chrome_reader *reader, const struct json_value *value,
                    struct chrome_id *id);
bool chrome_number_id(struct chrome_reader *reader, const struct json_number *number,
                      struct chrome_id *id);
/* The canonical form of a text: unescaped except for backslashes. Valid until the reader's texts
 * are freed. */
struct text chrome_canonical(struct chrome_reader *reader, const struct json_value *value);

static inline bool chrome_begins(char phase)
{
    return phase == 'B' || phase == 'b' || phase == 'S';
}

static inline bool chrome_ends(char phase)
{
    return phase == 'E' || phase == 'e' || phase == 'F';
}

/* Converts to picoseconds relative to a microsecond; false when out of range, and then clamped. */
bool chrome_picoseconds(const struct json_number *number, int64_t from_us, int64_t *ps);
/* The whole microseconds of a time, 0 when out of range. */
int64_t chrome_microseconds(const struct json_number *time);

/* A run of whole events of any number of lanes. */
struct chrome_chunk {
    const char *data;
    size_t size;
    uint32_t file;
    bool is_first; /* of its list */
    bool is_cut;   /* the file is truncated in it */
    size_t first_part, parts;
    size_t first_pair;
};

/* The events of one track in a chunk. */
struct chrome_part {
    uint32_t track, count;
    uint64_t first;
};

/* A start and its stop, as file offsets. */
struct chrome_pair {
    uint64_t begin, end;
};
#define CHROME_OPEN                                                                                \
    ((uint64_t)1 << 63) /* without a stop: the other bits are an index in open_ends */

/* A metadata member beside the events. */
struct chrome_fact {
    struct json_value key, value;
};

struct chrome_source {
    struct source source;
    json_file_list files;
    ARRAY(struct chrome_chunk) chunks;
    ARRAY(struct chrome_part) parts;
    ARRAY(struct chrome_pair) pairs;
    ARRAY(int64_t) open_ends; /* end times of threads with unfinished events */
    struct chrome_tables tables;
    ARRAY(uint32_t) strings;  /* by text of the tables: string of the catalog */
    ARRAY(uint32_t) types;    /* by type of the tables: type of the catalog */
    ARRAY(uint32_t) tracks;   /* by lane of the tables */
    ARRAY(int64_t) ends_ps;   /* by track: end of its last event, relative to the anchor */
    struct intern type_names; /* types of the catalog by name and category, four bytes each */
};

/* Splits a file: returns chunks one by one and collects the metadata around them. */
struct chrome_cutter {
    struct json_reader in;
    size_t chunk_size; /* minimum, except for the last of a list */
    enum { CUT_START, CUT_FACTS, CUT_EVENTS, CUT_END } state;
    bool is_list; /* the file is only a list of events */
    bool after_fact;
    bool has_events; /* a list of events has begun */
    bool at_first;   /* at the start of a list */
    bool is_cut_off;
    ARRAY(struct chrome_fact) facts;
};

void chrome_cutter_init(struct chrome_cutter *cutter, const struct json_file *file);
/* False at the end, or on error, see cutter->in. */
bool chrome_cut(struct chrome_cutter *cutter, struct chrome_chunk *chunk);
void chrome_cutter_free(struct chrome_cutter *cutter);

struct chrome_mark {
    uint64_t group; /* hash: only events of one group can be pairs */
    int64_t time_ps;
    uint64_t position; /* file offset, doubled; plus one for a stop */
};

/* Properties of a lane of the tables. */
struct chrome_lane_facts {
    int64_t stream; /* of its first event, if that names one */
    int64_t end_ps; /* of its last event */
};

struct chrome_count {
    uint32_t lane, count;
};

/* Results of the first pass over a file; lanes are indexes into the source's tables. */
struct chrome_survey {
    struct chrome_cutter cutter;
    size_t first_lane;
    ARRAY(struct chrome_lane_facts) lanes; /* from first_lane on */
    ARRAY(struct chrome_count) counts;     /* chunk by chunk */
    ARRAY(size_t) chunk_counts;            /* the number of `counts` of each chunk */
    ARRAY(struct chrome_mark) marks;
    ARRAY(const char *) metadata; /* events that name processes and threads */
    int64_t first_ps, last_ps;    /* relative to the anchor; first > last when nothing has a time */
    uint64_t far_events, timeless_events;
    bool is_cut_off;
};

/* First pass over one file: appends its chunks to the source's. */
bool chrome_survey_make(struct chrome_source *source, uint32_t file, struct chrome_survey *survey,
                        struct pool *pool, struct error *err);
void chrome_survey_free(struct chrome_survey *survey);

/* Metadata of the profile that a file is part of. */
struct chrome_profile {
    bool is_kineto;
    bool has_rank;
    int64_t rank, world_size; /* the latter 0 when unknown */
    bool has_base;
    int64_t base_ns; /* since 1970, of time 0 in the file */
    uint32_t host_name;
    ARRAY(struct json_value) devices; /* deviceProperties */
    struct idmap device_ids;          /* id -> index in devices */
    arg_buffer args;
};

void chrome_read_facts(struct chrome_source *source, uint32_t file,
                       const struct chrome_survey *survey, struct chrome_profile *profile);
void chrome_profile_free(struct chrome_profile *profile);
/* The args of a device, by its number. */
void chrome_device_args(struct catalog *catalog, const struct chrome_profile *profile,
                        int64_t number, bool is_gpu, arg_buffer *args);
bool chrome_has_device(const struct chrome_profile *profile, int64_t number);

/* After the first pass over a file: creates its tracks, numbers its events and pairs them. */
void chrome_tracks(struct chrome_source *source, uint32_t file, struct chrome_survey *survey,
                   const struct chrome_profile *profile, uint32_t instance);
void chrome_parts(struct chrome_source *source, size_t first_chunk,
                  const struct chrome_survey *survey);
uint64_t chrome_pairs(struct chrome_source *source, uint32_t file, size_t first_chunk,
                      struct chrome_survey *survey);

/* Second pass, over all files. */
bool chrome_decode(struct source *source, struct sink *sink, struct pool *pool, struct error *err);

#endif
