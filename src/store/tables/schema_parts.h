/*
 * Inside schema: the columns of each table of system profiles, by kind of table in files of their
 * own, and how they are written.
 */
#ifndef KYMO_STORE_TABLES_SCHEMA_PARTS_H
#define KYMO_STORE_TABLES_SCHEMA_PARTS_H

#include "store/tables/field.h"
#include "store/tables/schema_columns.h"

/* A column without NULLs, and one that may be NULL. */
#define ALWAYS(type, name, unit, meaning, example)                                                 \
    {name, FIELD_##type, true, unit, meaning, example, NULL}
#define MAYBE(type, name, unit, meaning, example)                                                  \
    {name, FIELD_##type, false, unit, meaning, example, NULL}
/* An enumerated text column. */
#define ONE_OF(required, name, meaning, example, choices)                                          \
    {name, FIELD_NAME, required, "", meaning, example, choices}

/* schema_events.c */
extern const struct field events_fields[EVENT_COLUMNS];
extern const struct field kernels_fields[KERNEL_COLUMNS];
extern const struct field copies_fields[COPY_COLUMNS];
extern const struct field collectives_fields[COLLECTIVE_COLUMNS];
extern const struct field allocations_fields[ALLOCATION_COLUMNS];
extern const struct field counters_fields[COUNTER_COLUMNS];
extern const struct field flows_fields[FLOW_COLUMNS];
extern const struct field runs_fields[RUN_COLUMNS];
extern const struct field steps_fields[STEP_COLUMNS];

/* schema_analysis.c */
extern const struct field devices_fields[DEVICE_COLUMNS];
extern const struct field device_operations_fields[DEVICE_OP_COLUMNS];
extern const struct field step_breakdowns_fields[BREAKDOWN_COLUMNS];
extern const struct field findings_fields[FINDING_COLUMNS];
extern const struct field evidence_fields[EVIDENCE_COLUMNS];
extern const struct field operator_summaries_fields[OPERATOR_COLUMNS];
extern const struct field module_summaries_fields[OPERATOR_KIND];

/* schema_programs.c */
extern const struct field python_frames_fields[PYTHON_COLUMNS];
extern const struct field modules_fields[MODULE_COLUMNS];
extern const struct field operations_fields[OPERATION_COLUMNS];
extern const struct field frames_fields[FRAME_COLUMNS];
extern const struct field frame_locations_fields[LOCATION_COLUMNS];
extern const struct field frame_files_fields[NAMED_COLUMNS];
extern const struct field frame_functions_fields[NAMED_COLUMNS];
extern const struct field source_files_fields[SOURCE_COLUMNS];

/* schema_metadata.c */
extern const struct field tracks_fields[TRACK_COLUMNS];
extern const struct field event_types_fields[TYPE_COLUMNS];
extern const struct field cpu_usage_fields[CPU_COLUMNS];
extern const struct field host_memory_fields[MEMORY_COLUMNS];
extern const struct field system_metadata_fields[SYSTEM_COLUMNS];
extern const struct field metadata_fields[META_COLUMNS];
extern const struct field warnings_fields[WARNING_COLUMNS];
extern const struct field schema_fields_fields[SCHEMA_COLUMNS];

#endif
