/*
 * Chrome trace JSON, inside the importer: what the first pass (survey) finds and the second
 * (decode) uses. The format: an object with a list "traceEvents" and facts around it, or just the
 * list. An event names its process, thread, category and phase itself, in any order and behind any
 * other, so that both passes read whole events; what they look up is the same in both.
 */
#ifndef KYMO_IMPORT_CHROME_PASSES_H
#define KYMO_IMPORT_CHROME_PASSES_H

#include "import/json_file.h"

/* Process and thread ids are numbers or texts. */
enum chrome_id_form { ID_NONE, ID_NUMBER, ID_TEXT };

struct chrome_id {
    enum chrome_id_form form;
    int64_t value; /* the number, or that of the text in the tables */
};

/* What the category of an event says about where it happened. */
enum chrome_work { WORK_UNKNOWN, WORK_HOST, WORK_DEVICE, WORK_ASIDE };

/* Events that share one of these share a lane; which one, the whole file decides. */
enum chrome_class {
    CLASS_THREAD,  /* on a thread */
    CLASS_HOST,    /* on a thread that runs on the host for certain */
    CLASS_STREAM,  /* device work, on the stream it names */
    CLASS_QUEUED,  /* names a stream: device work if its process is a device */
    CLASS_ASIDE,   /* on a device, but not work */
    CLASS_FLOW,    /* an end of an arrow */
    CLASS_ASYNC,   /* of a category */
    CLASS_COUNTER, /* one series of a counter */
};

struct chrome_lane {
    uint32_t file;
    uint8_t class, pid_form, tid_form, zero;
    int64_t pid, tid;        /* a counter's id takes the place of a thread */
    uint32_t detail, series; /* text or type, by class; text of a counter's series */
};
static_assert(sizeof(struct chrome_lane) == 32, "is looked up by its bytes, so it has no gaps");

/* Texts as they stand in the file, or with no other escapes than those of backslashes, under
 * numbers. */
struct chrome_tables {
    struct intern texts;  /* keys of args, ids, categories */
    struct intern types;  /* category and name, as type_text puts them together */
    struct intern lanes;  /* the bytes of struct chrome_lane */
    ARRAY(uint8_t) works; /* by type: enum chrome_work */
};

/* Texts that every table knows, under the same numbers. */
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

/* The key that came behind another one last time; events of a kind are all alike. */
enum { CHROME_GUESS_SIZE = 40 };
struct chrome_guess {
    uint32_t key, size; /* the size without the quote at the end; 0 when there is no guess */
    char text[CHROME_GUESS_SIZE];
};

enum { CHROME_TYPE_CACHE = 1024 };

/* A reader of events: one for each worker of a pass. */
struct chrome_reader {
    struct json_reader in;
    struct chrome_tables *tables;
    bool is_first_pass; /* adds what the tables do not know; later they only change with the file */
    uint32_t file;
    int64_t anchor_us;
    arg_buffer args;                        /* of the events read so far */
    struct arena texts;                     /* with resolved escapes */
    struct chrome_guess *followers;         /* by key */
    uint8_t field_followers[16];            /* the same for the fields of an event */
    uint32_t type_cache[CHROME_TYPE_CACHE]; /* by hash; 0 for none */
    struct output type_text;
    struct chrome_lane last_key; /* mostly the next event's as well */
    uint32_t last_lane;
};

struct chrome_event {
    const char *start;
    char phase; /* 0 when it has none or one of several letters */
    bool is_empty;
    bool has_time;
    bool is_far; /* more than 53 days from the anchor: it is put at the end of that time */
    bool has_stream;
    bool has_duration;
    struct json_value phase_text, name, category, id, scope; /* no data when missing */
    struct json_number time, duration;
    struct chrome_id pid, tid;
    int64_t time_ps, duration_ps; /* the time since the anchor */
    int64_t stream;
    size_t first_arg;
    size_t args_begin, args_end; /* those of them that stand in "args" */
};

void chrome_reader_init(struct chrome_reader *reader, struct chrome_tables *tables,
                        bool is_first_pass);
void chrome_reader_free(struct chrome_reader *reader);

/* Reads one event; its args, and what else it says, stand behind those in reader->args. */
bool chrome_read_event(struct chrome_reader *reader, struct chrome_event *event);
/* Steps over what stands between events; false at the end of the chunk or at a problem. */
bool chrome_next_event(struct chrome_reader *reader, bool *after_event);

/* What stands in the tables, by its number; INTERN_NONE when the file has changed. */
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
/* One way to write a text that has several: without escapes but for those of backslashes. It lives
 * until the reader's texts are freed. */
struct text chrome_one_form(struct chrome_reader *reader, const struct json_value *value);

static inline bool chrome_begins(char phase)
{
    return phase == 'B' || phase == 'b' || phase == 'S';
}

static inline bool chrome_ends(char phase)
{
    return phase == 'E' || phase == 'e' || phase == 'F';
}

/* A number as picoseconds, counted from some microsecond; false when it does not fit, and then it
 * is at the nearest end. */
bool chrome_picoseconds(const struct json_number *number, int64_t from_us, int64_t *ps);
/* The whole microseconds of a time, 0 when they do not fit. */
int64_t chrome_microseconds(const struct json_number *time);

/* A run of whole events; from 1 to any number of them, of any number of lanes. */
struct chrome_chunk {
    const char *data;
    size_t size;
    uint32_t file;
    bool is_first; /* of its list */
    bool is_cut;   /* the file ends in it */
    size_t first_part, parts;
    size_t first_pair;
};

/* The events of one track in a chunk. */
struct chrome_part {
    uint32_t track, count;
    uint64_t first;
};

/* A beginning and its end, as places in the file. */
struct chrome_pair {
    uint64_t begin, end;
};
#define CHROME_OPEN ((uint64_t)1 << 63) /* it has no end: the rest is an index in open_ends */

/* A fact that stands beside the events. */
struct chrome_fact {
    struct json_value key, value;
};

struct chrome_source {
    struct source source;
    json_file_list files;
    ARRAY(struct chrome_chunk) chunks;
    ARRAY(struct chrome_part) parts;
    ARRAY(struct chrome_pair) pairs;
    ARRAY(int64_t) open_ends; /* when threads with events that never end were last heard of */
    struct chrome_tables tables;
    ARRAY(uint32_t) strings;  /* by text of the tables: in the catalog */
    ARRAY(uint32_t) types;    /* by type of the tables: in the catalog */
    ARRAY(uint32_t) tracks;   /* by lane of the tables */
    ARRAY(int64_t) ends_ps;   /* by track: when its last event ends, counted from the anchor */
    struct intern type_names; /* types of the catalog by name and category, four bytes each */
};

/* Cuts a file: gives chunks one after the other and gathers the facts around them. */
struct chrome_cutter {
    struct json_reader in;
    size_t chunk_size; /* at least, but for the last of a list */
    enum { CUT_START, CUT_FACTS, CUT_EVENTS, CUT_END } state;
    bool is_list; /* there is nothing but events */
    bool after_fact;
    bool has_events; /* a list of them has begun */
    bool at_first;   /* of a list */
    bool is_cut_off;
    ARRAY(struct chrome_fact) facts;
};

void chrome_cutter_init(struct chrome_cutter *cutter, const struct json_file *file);
/* False at the end, or at a problem, which cutter->in tells. */
bool chrome_cut(struct chrome_cutter *cutter, struct chrome_chunk *chunk);
void chrome_cutter_free(struct chrome_cutter *cutter);

struct chrome_mark {
    uint64_t group; /* events of which may be pairs: a hash */
    int64_t time_ps;
    uint64_t place; /* twice the place in the file, plus one for an end */
};

/* What a lane of the tables is like, beyond its name. */
struct chrome_lane_facts {
    int64_t stream; /* of its first event, if that names one */
    int64_t end_ps; /* of its last event */
};

struct chrome_count {
    uint32_t lane, count;
};

/* What the first pass over a file found; lanes are those of the source's tables. */
struct chrome_survey {
    struct chrome_cutter cutter;
    size_t first_lane;
    ARRAY(struct chrome_lane_facts) lanes; /* from first_lane on */
    ARRAY(struct chrome_count) counts;     /* chunk by chunk */
    ARRAY(size_t) chunk_counts;            /* how many of them each chunk has */
    ARRAY(struct chrome_mark) marks;
    ARRAY(const char *) metadata; /* events that say how things are called */
    int64_t first_ps, last_ps; /* counted from the anchor; first > last when nothing has a time */
    uint64_t far_events, timeless_events;
    bool is_cut_off;
};

/* First pass over one file: its chunks join the source's. */
bool chrome_survey_make(struct chrome_source *source, uint32_t file, struct chrome_survey *survey,
                        struct pool *pool, struct error *err);
void chrome_survey_free(struct chrome_survey *survey);

/* The profile a file is part of: what stands beside its events. */
struct chrome_profile {
    bool is_kineto;
    bool has_rank;
    int64_t rank;
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

/* After the first pass over a file: its tracks, what its events are numbered, what belongs
 * together. */
void chrome_tracks(struct chrome_source *source, uint32_t file, struct chrome_survey *survey,
                   const struct chrome_profile *profile, uint32_t instance);
void chrome_parts(struct chrome_source *source, size_t first_chunk,
                  const struct chrome_survey *survey);
uint64_t chrome_pairs(struct chrome_source *source, uint32_t file, size_t first_chunk,
                      struct chrome_survey *survey);

/* Second pass, over all files. */
bool chrome_decode(struct source *source, struct sink *sink, struct pool *pool, struct error *err);

#endif
