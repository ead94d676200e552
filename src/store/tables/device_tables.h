/*
 * Inside store: tables of device profiles, from the lists of their executions. A row has the id of
 * the same thing's event.
 */
#ifndef KYMO_STORE_TABLES_DEVICE_TABLES_H
#define KYMO_STORE_TABLES_DEVICE_TABLES_H

#include "store/tables/fill.h"
#include "store/tables/profile.h"
#include "store/tables/schema_device.h"

/* What a block's transfers read and write, as strings of the catalog. */
struct side_names {
    uint32_t partitions, shape, offset, steps;
};
struct block_names {
    struct side_names read, write;
    uint32_t semaphore, operation, source, target, variable;
};

/* Names that many rows have, as strings of the catalog. */
struct device_names {
    uint32_t engines[ENGINE_COUNT], matrix, opcodes[OP_COUNT], functions[FUNCTION_COUNT];
    uint32_t queue_types[DMA_TYPES], dma_operations[DMA_MAX + 1], memories[MEMORY_HBM + 1];
    uint32_t update_kinds[UPDATE_SET + 1], update_times[UPDATE_AT_READ + 1];
    uint32_t edges[EDGE_KINDS], waits[DEVICE_WAITS], dma, collectives;
    uint32_t collective, instruction_table, transfer_table, collective_table, none;
    uint32_t semaphores[SEMAPHORES], units[DEVICE_UNITS], by_dma, by_instruction, cast;
    uint32_t *operands[ENGINE_COUNT], *compiled[ENGINE_COUNT]; /* by instruction: its id as well */
    struct block_names *blocks;
    uint32_t *layers, *operations, *hlo_opcodes, *places, *nki_places,
        *frames; /* by origin; 0: none */
    uint32_t *variables, *queues;
    uint32_t *hlo_nodes, *framework_nodes;  /* by origin: numbers in roll-ups */
    uint32_t first_of_engine[ENGINE_COUNT]; /* number of its first instruction, over all engines */
};

/* Ids of everything that dependencies speak of, as in an execution's lists. */
struct device_item_ids {
    int64_t *instructions[ENGINE_COUNT], *blocks, *collectives;
};

/* A core that is being written, and an execution of it with what several tables need. */
struct device_at {
    const struct profile_maker *maker;
    const struct device_core *core;
    const struct device_names *names;
    const struct core_program *program;
    const struct device_execution *execution;
    uint32_t number; /* of the execution */
    struct device_item_ids ids;
    const struct device_dependencies *dependencies;
    const struct device_path *path;
    struct device_tracker *tracker; /* the worker's */
    bool is_alike; /* to the execution before, which the worker has just put: see fill_repeat */
    int64_t rank, physical_core;
};

struct device_at device_at_core(const struct profile_maker *maker, size_t number);

typedef void device_put(struct filler *filler, const struct device_at *at);
/* Calls put for each core. */
bool fill_cores(struct profile_maker *maker, enum table_number table, device_put *put,
                struct error *err);

/* The event that is the first of an execution on a lane. */
int64_t device_first_id(const struct device_at *at, uint32_t lane);
/* The item's id and the name of its table; false for none. A transfer stands for its block. */
bool device_item_id(const struct device_at *at, struct device_item item, int64_t *id,
                    uint32_t *table);

/* Rows of an execution, each of another table. */
device_put put_instructions, put_packets, put_transfers, put_updates, put_dependencies,
    put_critical_path, put_allocations, put_active_times, put_collectives, put_cc_steps,
    put_barriers, put_errors, put_throttles, put_execution, put_scratchpad_usage,
    put_scratchpad_allocations, put_device_warnings;

/* Columns of Metadata that are known of devices. */
void fill_device_metadata(struct filler *filler, const struct device_cores *cores);

/* A value of a record: FLOAT32 and FLOAT64 columns. */
void record_put_real(struct record *record, size_t column, double value);
/* Start, end and duration, in consecutive columns. Both ends are whole nanoseconds and the duration
 * is between them, so that durations add up: instructions take a few nanoseconds each. */
void fill_ends(struct filler *filler, size_t column, int64_t start_ps, int64_t end_ps);
void record_put_ends(struct record *record, size_t column, int64_t start_ps, int64_t end_ps);
/* A name, if it is not 0. */
static inline void record_put_name(struct record *record, size_t column, uint32_t name)
{
    if (name)
        record_put(record, column, name);
}

void fill_int(struct filler *filler, size_t column, int64_t value);
void fill_null(struct filler *filler, size_t column);
void fill_real(struct filler *filler, size_t column, double value); /* NaN: NULL */
void fill_name(struct filler *filler, size_t column, uint32_t name);
/* A name, NULL where it is 0. */
void fill_maybe_name(struct filler *filler, size_t column, uint32_t name);
void fill_format(struct filler *filler, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
