/*
 * Neuron Explorer JSON, internal to the importer: a system profile (events, CPU and memory usage),
 * a device profile (instructions, DMA), or a whole profile that Kymo exported in the same format
 * with its tracks beside the events.
 */
#ifndef KYMO_IMPORT_NEURON_EXPLORER_EXPLORER_PASSES_H
#define KYMO_IMPORT_NEURON_EXPLORER_EXPLORER_PASSES_H

#include "import/neuron_systrace/neuron.h"

/* Known keys; they are the catalog's first strings. */
enum explorer_key {
    KEY_NAME = 1,
    KEY_TIME,
    KEY_DURATION,
    KEY_START,
    KEY_END_TIME,
    KEY_GROUP,
    KEY_INSTANCE,
    KEY_PROCESS,
    KEY_THREAD,
    KEY_LOGICAL_CORE,
    KEY_CORE,
    KEY_SUBGROUP,
    KEY_LABEL,
    KEY_OPCODE,
    KEY_VARIABLE,
    KEY_UTIL,
    KEY_USAGE,
    KEY_PERCENT_USAGE,
    KEY_CPU_ID,
    KEY_DEVICE_IDX,
    KEY_HBM_IDX,
    KEY_ARGS, /* these and later ones are from Kymo's own documents */
    KEY_ID,
    KEY_TRACK,
    KEY_EVENT_TYPE,
    KEY_WORKER,
    KEY_TYPE,
    KEY_START_PS,
    KEY_DURATION_PS,
    KEY_OCCURRENCES,
    KEY_STEP,
    KEY_VALUE,
    KEY_TENSOR_NAME,
    KEY_TENSOR_ID,
    KEY_SIZE,
    KEY_PARENT,
    KEY_COUNT,
};

enum explorer_list {
    LIST_EVENTS,
    LIST_CPU,
    LIST_MEMORY,
    LIST_DEVICE_MEMORY,
    LIST_INSTRUCTIONS,
    LIST_DMA,
    LIST_OTHER, /* other records with a time */
};

/* Tracks and event types of Kymo's own documents, by their numbers in the document. */
struct own_tables {
    bool is_own;
    struct idmap tracks; /* -> track of the catalog */
    struct idmap types;  /* -> type */
    uint32_t hosts;
    bool has_start, has_stop;
    int64_t start_epoch_ns, stop_epoch_ns;
};

struct explorer_file {
    struct time_span span;
    struct own_tables own;
    uint32_t instance; /* string: the default */
    bool has_core;     /* of a device profile */
    int64_t core;
    bool is_cut_off;
    uint64_t non_events;
    arg_buffer args;
};

struct explorer_source {
    struct record_source base;
    ARRAY(struct explorer_file) facts; /* by file */
};

/* A pass over one file, record by record. */
struct explorer_pass {
    struct explorer_source *source;
    uint32_t number; /* index of the file */
    const struct json_file *file;
    struct explorer_file *facts;
    struct record record;
    uint64_t used; /* known keys of the record that are not pushed as args */
    enum explorer_list list;
    bool is_table; /* records are rows of a table */
    struct json_walk walk;
    struct pusher *pusher; /* only in the last pass */
    struct error *err;
};

/* The source is zeroed, and freed by explorer_close; it may be embedded as first member. */
void explorer_init(struct explorer_source *source);
void explorer_close(struct source *source);
void explorer_pass_begin(struct explorer_pass *pass, struct explorer_source *source,
                         uint32_t number, bool is_reread);
/* First pass: samples the time of a record. */
void explorer_sample_time(struct explorer_pass *pass);
/* Handles pass->record: counts it, or pushes it when there is a pusher. On failure, the error is in
 * pass->walk.in or pass->err. */
bool explorer_put(struct explorer_pass *pass);

/* Imports a member of a Kymo document that is not a list of records; false when it is unknown. */
bool own_read_fact(struct explorer_source *source, uint32_t file, struct text key,
                   const struct json_value *value);
void own_free(struct own_tables *own);

/* Imports a track or an event type from the object that describes it. */
void own_add_track(struct catalog *catalog, struct own_tables *own,
                   const struct json_value *object);
void own_add_type(struct catalog *catalog, struct own_tables *own, const struct json_value *object);

/* Imports a program. */
void own_add_program(struct catalog *catalog, uint32_t file, const struct json_value *object);

#endif
