/*
 * The tables of a processed profile. Names, columns and units are those of the published profile
 * schema 7.4.0 wherever it has a table for the data; additions (tracks, steps, GPU work, HLO,
 * counters, Python frames) follow its conventions. The table SchemaFields describes them all.
 */
#ifndef KYMO_STORE_TABLES_SCHEMA_H
#define KYMO_STORE_TABLES_SCHEMA_H

#include "store/tables/field.h"
#include "store/tables/schema_columns.h"

#define SCHEMA_VERSION "7.4.0"

enum table_number {
    TABLE_EVENTS,
    TABLE_KERNELS,
    TABLE_COPIES,
    TABLE_COLLECTIVES,
    TABLE_ALLOCATIONS,
    TABLE_COUNTERS,
    TABLE_FLOWS,
    TABLE_RUNS,
    TABLE_STEPS,
    TABLE_DEVICES,
    TABLE_DEVICE_OPERATIONS,
    TABLE_STEP_BREAKDOWNS,
    TABLE_RANK_INFO, /* only of datasets; columns of this and the next three: schema_rank.h */
    TABLE_RANK_STEPS,
    TABLE_RANK_COLLECTIVES,
    TABLE_RANK_KERNELS,
    TABLE_FINDINGS,
    TABLE_EVIDENCE,
    TABLE_OPERATOR_SUMMARIES,
    TABLE_MODULE_SUMMARIES,
    TABLE_TRACKS,
    TABLE_EVENT_TYPES,
    TABLE_PYTHON_FRAMES,
    TABLE_MODULES,
    TABLE_OPERATIONS,
    TABLE_FRAMES,
    TABLE_FRAME_LOCATIONS,
    TABLE_FRAME_FILES,
    TABLE_FRAME_FUNCTIONS,
    TABLE_SOURCE_FILES,
    TABLE_CPU_USAGE,
    TABLE_HOST_MEMORY,
    TABLE_SYSTEM_METADATA,
    TABLE_METADATA,
    TABLE_WARNINGS,
    TABLE_SCHEMA_FIELDS,
    /* Device profiles: schema_device.h. */
    TABLE_INSTRUCTION,
    TABLE_PACKET,
    TABLE_TRANSFER,
    TABLE_UPDATE,
    TABLE_PENDING,
    TABLE_DMA_USAGE,
    TABLE_HBM_USAGE,
    TABLE_SBUF_USAGE,
    TABLE_PSUM_USAGE,
    TABLE_SBUF_ALLOCATION,
    TABLE_SCRATCHPAD_USAGE,
    TABLE_SCRATCHPAD_ALLOCATION,
    TABLE_ACTIVE,
    TABLE_CC_OP,
    TABLE_CC_INSTRUCTION,
    TABLE_CC_STREAM,
    TABLE_BARRIER,
    TABLE_NODE,
    TABLE_FRAMEWORK,
    TABLE_HLO,
    TABLE_OPCODE,
    TABLE_TENSOR,
    TABLE_NEFF,
    TABLE_QUEUE_INFO,
    TABLE_HBM_TYPE,
    TABLE_DEVICE_ERROR,
    TABLE_THROTTLE,
    TABLE_THROTTLE_SUM,
    TABLE_EXECUTION,
    TABLE_DEVICE_PROFILE,
    TABLE_CRITICAL_PATH,
    TABLE_DEVICE_WARNING,
    TABLE_RANK,
    TABLE_MEETING,
    TABLE_SUMMARY,
    TABLE_COUNT,
};

extern const struct table_schema table_schemas[TABLE_COUNT];

/* The type name in SchemaFields. */
const char *field_type_name(enum field_type type);
/* The same as DuckDB has it. */
const char *field_sql_type(enum field_type type);
/* How a metric of table Summary is worked out; NULL for all other columns. */
const char *field_formula(const struct field *field);

#endif
