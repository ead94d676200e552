/*
 * Inside store: the tables with one row per event. events.c fills SystemProfileEvents and
 * CounterSample, typed_tables.c the tables for certain kinds of events, which have columns for some
 * args.
 */
#ifndef KYMO_STORE_TABLES_EVENTS_H
#define KYMO_STORE_TABLES_EVENTS_H

#include "store/tables/make.h"

#include <assert.h>

enum { FLOW_TEXT = 80, KNOWN_DETAILS = 256 };

/* Args with columns. */
enum role {
    ROLE_NONE,
    ROLE_CORRELATION,
    ROLE_CONTEXT,
    ROLE_SCOPE_RANGE,
    ROLE_GRAPH,
    ROLE_GRAPH_NODE,
    ROLE_FRAMEWORK_OP,
    ROLE_LABEL,
    ROLE_MODULE,
    ROLE_PROGRAM,
    ROLE_OCCUPANCY,
    ROLE_MINIMUM_GRID,
    ROLE_SUGGESTED_BLOCK,
    ROLE_GRID,
    ROLE_BLOCK,
    ROLE_REGISTERS,
    ROLE_SHARED,
    ROLE_ACHIEVED,
    ROLE_BYTES,
    ROLE_KERNEL_DETAILS,
    ROLE_COPY_DETAILS,
    ROLE_SET_DETAILS,
    ROLE_ALLOCATOR,
    ROLE_REQUESTED,
    ROLE_ALLOCATION,
    ROLE_ADDRESS,
    ROLE_IN_USE,
    ROLE_RESERVED,
    ROLE_AVAILABLE,
    ROLE_PEAK,
    ROLE_FRAGMENTATION,
    ROLE_REGION,
    ROLE_DATA_TYPE,
    ROLE_SOURCE_FILE,
    ROLE_MEMORY_DEVICE,
    ROLE_COLLECTIVE,
    ROLE_ELEMENT_TYPE,
    ROLE_IN_ELEMENTS,
    ROLE_OUT_ELEMENTS,
    ROLE_IN_SPLIT,
    ROLE_OUT_SPLIT,
    ROLE_GROUP,
    ROLE_GROUP_DESCRIPTION,
    ROLE_GROUP_SIZE,
    ROLE_GROUP_RANKS,
    ROLE_SEQUENCE, /* these four have no columns: see collective_facts */
    ROLE_COMMUNICATOR,
    ROLE_FROM_RANK,
    ROLE_TO_RANK,
    ROLE_LAUNCH_FILE,
    ROLE_LAUNCH_LINE,
    ROLE_COUNT,
};

/* The tables written here. */
enum { FIRST_TABLE = TABLE_EVENTS, LAST_TABLE = TABLE_COUNTERS, MADE_TABLES = LAST_TABLE + 1 };

/* Cache of parsed kernel details, which many kernels share. */
struct known_details {
    uint32_t string; /* INTERN_NONE: not an interned string */
    bool is_readable;
    struct kernel_details details;
};

struct worker {
    struct parquet_encoder *encoder;
    struct rows rows[MADE_TABLES];
    record_list records[MADE_TABLES]; /* not converted to rows yet */
    uint64_t groups;                  /* row groups written since the last part ended */
    struct output text;
    arg_buffer rest;   /* args without a column */
    bool is_too_large; /* some event exceeds the limits of a table */
    uint8_t present[BATCH_EVENTS];
    int64_t values[BATCH_EVENTS];
    uint32_t items[BATCH_EVENTS]; /* flows of each event */
    /* Last lookup: neighbors often share it. */
    uint64_t correlation;
    const struct launch *launch;
    char flow[FLOW_TEXT];
    size_t flow_size;
    collective_facts collectives;
    struct intern collective_texts;              /* of these */
    struct known_details details[KNOWN_DETAILS]; /* by string; new entries replace old ones */
};

struct event_sink {
    struct sink sink;
    struct profile_maker *maker;
    struct location *locations;        /* by track */
    uint32_t layers[LAYER_DEVICE + 1]; /* strings: their names */
    uint8_t *roles;                    /* by key */
    struct worker *workers;
    unsigned worker_count;
};

/* An event being converted. */
struct event {
    const struct batch *batch;
    uint32_t index;
    uint64_t number, id;
    struct arg_list args;
    const struct arg *by_role[ROLE_COUNT];
    uint64_t present, taken; /* bitmasks of roles */
};

static_assert((int)ROLE_COUNT <= 64, "a bit each");

/* By arg key: an enum role; free with mem_free. */
uint8_t *roles_of_keys(const struct catalog *catalog);
/* Adds the event to the table of its kind, if any, and records which args that consumed. */
void add_to_kind(const struct event_sink *sink, struct worker *worker, struct event *event);
/* Keeps what the event, which has the name of a collective, says of it. */
void add_collective_fact(const struct event_sink *sink, struct worker *worker,
                         const struct event *event);
/* Gives what the workers kept to the maker. */
void gather_collective_facts(struct event_sink *sink);
/* Ends a batch. */
void flush_kinds(struct worker *worker);

#endif
