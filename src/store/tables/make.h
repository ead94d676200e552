/*
 * Inside store: a profile being written. Event tables are filled from the source's batches, all
 * others from the catalog and the analysis; the timeline from the analysis.
 */
#ifndef KYMO_STORE_TABLES_MAKE_H
#define KYMO_STORE_TABLES_MAKE_H

#include "analyze/device/device.h"
#include "analyze/profile/analyze.h"
#include "store/tables/collectives.h"
#include "store/tables/parquet.h"

/* Column values that occur in many rows, as strings of the catalog. */
struct words {
    uint32_t events_table, launch, context, module, operation, memcpy, memset;
    uint32_t attributions[ATTRIBUTIONS];
    uint32_t families[KERNEL_FAMILIES];
};

struct device_names;
struct profile_options;

struct profile_maker {
    struct source *source;
    const struct analysis *analysis;
    struct pool *pool;
    const char *directory;
    const char *name;    /* of the profile */
    const char *version; /* of the program */
    struct words words;
    const struct profile_options *options;
    const struct device_cores *devices; /* NULL: none */
    struct device_names *device_names;  /* by core */
    uint64_t *first_event;        /* by track: id of its first event; the others are consecutive */
    uint64_t *first_operation;    /* by program: id of its first operation */
    uint64_t *first_run;          /* by derived row: id of its first run */
    ARRAY(uint32_t) python_files; /* strings of the catalog: files of traced Python functions */
    collective_facts collectives; /* that events carry */
    struct intern collective_texts;         /* of these */
    pthread_mutex_t lock;                   /* for opening files */
    struct parquet_file files[TABLE_COUNT]; /* schema is NULL until a table has rows */
};

/* Creates a table's file if it is not there yet. */
bool maker_open(struct profile_maker *maker, enum table_number table, struct error *err);
/* Adds rows to a table as the row group with this number and clears them; does nothing without
 * rows. */
bool maker_add(struct profile_maker *maker, enum table_number table,
               struct parquet_encoder *encoder, struct rows *rows, uint64_t number,
               struct error *err);
/* Writes the ends of all files, or removes them if something failed before: not ok. */
bool maker_close(struct profile_maker *maker, bool ok, struct error *err);

/* Tables with one row per event: events, kernels, copies, allocations, counters. */
bool make_event_tables(struct profile_maker *maker, struct error *err);
/* All others; thread-safe. */
typedef bool table_task(struct profile_maker *maker, struct error *err);
table_task make_flows, make_runs, make_steps, make_operator_summaries, make_module_summaries,
    make_tracks, make_event_types, make_python_frames, make_modules, make_operations, make_frames,
    make_system_metadata, make_metadata, make_warnings, make_schema_fields, make_cpu_usage,
    make_memory_usage, make_devices, make_device_operations, make_step_breakdowns, make_findings,
    make_evidence, make_source_files, make_rank_steps, make_rank_collectives, make_rank_kernels,
    make_rank_info;
/* Of device profiles: no rows where there are none. */
table_task make_queues, make_samples, make_memory_samples, make_streams, make_layers,
    make_framework_operators, make_hlo_operations, make_opcodes, make_tensors, make_neff_headers,
    make_hbm_types, make_throttle_sums, make_device_summary, make_device_profiles, make_ranks;
/* Their tables of what happens in executions: tasks, each by a worker of the pool. */
struct execution_tables;
struct execution_tables *execution_tables_begin(struct profile_maker *maker);
size_t execution_tables_tasks(const struct execution_tables *tables);
bool execution_tables_make(struct execution_tables *tables, size_t task, unsigned worker,
                           struct error *err);
void execution_tables_free(struct execution_tables *tables);
/* Lists the files of traced Python functions, where source files are wanted. */
void python_files_find(struct profile_maker *maker);
/* Adds the names that their rows repeat to the catalog. */
void device_names_make(struct profile_maker *maker);
void device_names_free(struct profile_maker *maker);

#endif
