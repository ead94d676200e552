/*
 * The catalog: everything about a profile except its events. An importer fills it before the first
 * event is pushed; after that it is immutable, so all threads may read it. The catalog owns its
 * strings and lists; bytes in args may point into the source's file and live as long as the source.
 */
#ifndef KYMO_MODEL_CATALOG_H
#define KYMO_MODEL_CATALOG_H

#include "base/base.h"

#include <assert.h>
#include <math.h>

#define TRACK_NONE  UINT32_MAX
#define TIME_UNSET  INT64_MIN
#define STRING_NONE 0u /* the empty string */

/* A typed value under a key; keys and texts are ids in catalog.strings. */
enum arg_type {
    ARG_INT,
    ARG_UINT,
    ARG_DOUBLE,
    ARG_STRING, /* interned: value is its id */
    ARG_TEXT,   /* not interned: data and size */
    ARG_BYTES,
    ARG_NONE, /* a key without a value */
    ARG_JSON, /* any other value of a JSON file, validated, verbatim: data and size */
};

#define ARG_LARGEST ((1u << 29) - 1)

struct arg {
    uint32_t key;
    uint32_t type : 3;
    uint32_t size : 29; /* of data, for ARG_TEXT, ARG_BYTES and ARG_JSON */
    union {
        int64_t integer;
        uint64_t uinteger;
        double number;
        uint32_t string;
        const uint8_t *data;
    };
};
static_assert(sizeof(struct arg) == 16, "batches hold many of these");

/* Sets all fields at once: in the loops over events, setting them one by one costs a third more. */
static inline void arg_put(struct arg *arg, uint32_t key, uint32_t type, uint32_t size,
                           uint64_t value)
{
    *arg =
        (struct arg){.key = key, .type = type & 7, .size = size & ARG_LARGEST, .uinteger = value};
}

struct arg_list {
    struct arg *items;
    uint32_t count;
};

typedef ARRAY(struct arg) arg_buffer; /* a list under construction */

/* Tracks form a tree of four levels: instance, process, source, lane. Only lanes hold events. */
enum track_level { TRACK_INSTANCE, TRACK_PROCESS, TRACK_SOURCE, TRACK_LANE };
enum source_role { SOURCE_OTHER, SOURCE_HOST, SOURCE_DEVICE };
enum lane_role {
    LANE_PLAIN,
    LANE_STREAM,  /* device work in launch order */
    LANE_OPS,     /* device work by compiler operation */
    LANE_MODULES, /* executions of whole programs */
    LANE_STEPS,
    LANE_ASYNC,   /* may overlap work on other lanes */
    LANE_COUNTER, /* every event is one sample of one value */
    LANE_ASIDE,   /* on a device, but not its work: annotations, ends of flows */
    LANE_ROLES,
};
extern const char *const lane_role_names[LANE_ROLES];

enum { TRACK_CORES = 2 };

struct track {
    uint32_t parent; /* TRACK_NONE for instances */
    enum track_level level;
    enum source_role source; /* for lanes, that of their source */
    enum lane_role lane;
    uint8_t core;  /* groups lanes of a source: 1 for a TPU's sparse cores, otherwise 0 */
    uint32_t host; /* where it was found: the last one in the catalog at that time */
    uint32_t name, display_name;
    int64_t id;       /* the source's number for it: pid, thread or line id */
    int64_t sort_key; /* among its siblings */
    struct arg_list args;
    uint64_t events;
    bool is_incomplete; /* events of the lane were dropped during the capture */
};

/* What all events of one type share: an event only stores the index of its type. Type 0 is for
 * events whose type is unknown; it has no name. */
struct event_type {
    uint32_t name, display_name;
    struct arg_list args;
    uint32_t source;  /* the track that declares it, even if it has no such events; 0 for none */
    int64_t id;       /* its number there */
    bool is_flow_end; /* its events are ends of flows, which are drawn as arrows */
};

/* A name that a source numbers, even if nothing has that number; for writing the source back with
 * the same numbers. */
struct numbered_name {
    uint32_t source; /* track */
    uint32_t name, description;
    int64_t id;
};

/* One machine or process that wrote a part of the profile. */
struct host {
    uint32_t name, file;
    uint64_t size_bytes;
    uint32_t compression;   /* its name */
    int64_t start_epoch_ns; /* TIME_UNSET when unknown */
    int64_t stop_epoch_ns;
    int64_t shift_ps; /* added to its event times to align it with the other hosts */
    bool is_nameless; /* it has no name: the file's name is used */
    uint32_t machine; /* that it ran on; STRING_NONE when unknown */
    bool has_rank;    /* it is a rank of a job */
    int64_t rank;
    int64_t world_size; /* of the job; 0 when unknown */
};

struct message {
    uint32_t host;
    bool is_error;
    bool is_ours; /* about the capture itself, not from it */
    uint32_t text;
};

/* Compiled programs (HLO modules) and their operations. */
struct stack_frame {
    uint32_t file, function;
    uint32_t line, column;
    uint32_t parent; /* index in program.frames plus one; 0 for the outermost */
};

struct operation {
    uint32_t name, opcode, op_name;
    uint32_t computation;
    uint32_t file, line; /* where the user wrote it; STRING_NONE when unknown */
    uint32_t frame;      /* index in program.frames plus one; 0 when unknown */
    uint32_t category, shape, expression;
    uint32_t compute_type; /* "bf16": of its factors, otherwise of its result */
    /* Of one execution, with the computations it calls; NAN and -1 when unknown. */
    double flops, matrix_flops, xprof_flops;
    int64_t bytes_accessed, bytes_read, bytes_written;
    uint32_t first_operand, operand_count; /* in program.operands */
    uint32_t first_callee, callee_count;   /* in program.callees */
    uint32_t schedule_index;               /* in the order in which its computation executes */
    bool is_fused;                         /* inside a fusion */
};

#define OPERATION_COSTS_UNKNOWN                                                                    \
    .flops = NAN, .matrix_flops = NAN, .xprof_flops = NAN, .bytes_accessed = -1, .bytes_read = -1, \
    .bytes_written = -1

struct program {
    uint32_t host;
    uint32_t name;  /* of the module */
    uint32_t label; /* the source's name for it, "module(id)" */
    uint64_t id;
    ARRAY(struct operation) operations;
    ARRAY(uint32_t) operands; /* operations */
    ARRAY(uint32_t) callees;  /* names of computations */
    ARRAY(struct stack_frame) frames;
    struct text proto;           /* serialized HloProto, as long as the source; may be empty */
    struct idmap by_name;        /* operation name -> index */
    struct idmap by_kernel_name; /* name as a kernel symbol, with '_' for '.' and '-' -> index */
};

struct catalog {
    const char *format; /* lives as long as the catalog, e.g. "xplane"; of several "a+b" */
    struct intern strings;
    struct arena arena;
    ARRAY(struct track) tracks;
    struct idmap groups; /* used by catalog_group */
    ARRAY(struct event_type) types;
    ARRAY(struct numbered_name) names; /* of args and texts, source by source */
    ARRAY(struct host) hosts;
    ARRAY(struct program) programs;
    ARRAY(struct message) messages;
    size_t operation_count; /* of all programs */
    size_t given_files;     /* files it was read from; see limits.h */
    uint64_t given_bytes;   /* their size */
    int64_t start_epoch_ns; /* of time 0; TIME_UNSET when unknown */
    int64_t stop_epoch_ns;
    bool has_own_findings; /* findings about hosts and GPUs do not apply to it */
    bool is_sampled; /* devices were recorded in windows: what they did in between is unknown */
};

void catalog_init(struct catalog *catalog);
void catalog_free(struct catalog *catalog);

static inline struct text catalog_text(const struct catalog *catalog, uint32_t string)
{
    return intern_text(&catalog->strings, string);
}

static inline uint32_t catalog_string(struct catalog *catalog, struct text text)
{
    return intern_add(&catalog->strings, text);
}

/* The same for names used as keys: malformed UTF-8 is replaced, so that keys written alike are
 * equal. */
uint32_t catalog_key(struct catalog *catalog, struct text text);

/* The child of parent with this level, id and name, created if missing. */
uint32_t catalog_group(struct catalog *catalog, uint32_t parent, enum track_level level, int64_t id,
                       uint32_t name);
/* Adds a track below parent; the result is valid until the next one is added. */
struct track *catalog_add_track(struct catalog *catalog, uint32_t parent, enum track_level level);
/* The ancestor (or the track itself) at a level. */
uint32_t catalog_ancestor(const struct catalog *catalog, uint32_t track, enum track_level level);
/* The name to display. */
struct text catalog_track_label(const struct catalog *catalog, uint32_t track);
struct text catalog_type_label(const struct catalog *catalog, uint32_t type);
/* A copy of a list that lives as long as the catalog. */
struct arg_list catalog_keep_args(struct catalog *catalog, const struct arg *args, size_t count);
struct arg catalog_int_arg(struct catalog *catalog, struct text key, int64_t value);
/* The value under a key, or NULL. */
const struct arg *catalog_arg(const struct catalog *catalog, const struct arg_list *args,
                              struct text key);
/* The string of a text value; empty for numbers. */
struct text arg_text(const struct catalog *catalog, const struct arg *arg);
/* The value of a number, 0 for texts. */
int64_t arg_integer(const struct arg *arg);
double arg_number(const struct arg *arg);

#endif
