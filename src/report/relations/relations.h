/*
 * relations: what reports are queries over: the tables of a processed profile, and relations that
 * are made of these. Their SQL is in src/relations/queries; a query uses a relation by naming it.
 *
 *     option       one row: what was asked for, as in relation_options
 *
 *     shown_kernel kernels of GPUs with the name they are shown under
 *     kernel       the same with what kind of kernel it is and where it ran
 *     copy         copies and memsets, `operation` as Nsight names them
 *     work         both
 *     api_call     calls of the CUDA and HIP APIs on the host
 *     launched     work with the call that launched it
 *     copied       copies with that call, if it is known
 *     edge         starts and ends of work
 *     busy         when a device has work
 *     extent       when it has its first and last work
 *     gap          when it has none, and why
 *     span         ranges of the host: NVTX and record_function ranges, TraceMe annotations
 *     enclosed     calls that launched work and the ranges around them, on the same thread
 *
 *     host         hosts of the profile
 *     kernel_group kernels by name, launch configuration and what XProf takes for the operation
 *     memory       allocations and frees, as XProf numbers them
 *     exchange     collectives of GPUs, as they run on devices
 *     counter      samples of counters of devices
 *     accelerator  the devices that XProf's tools are about
 *     machine      one row: their kind, their peaks, their time
 *     op           operations of all these devices, with what they cost
 *     step_part    steps and their parts
 *     host_op      operations of the host: their kind, count and time
 *     host_time    one row: the time from their first to their last, of all threads
 *     training     one row: whether a program has gradients
 *
 *     step_window  when steps begin and end on devices
 *     device_op    operations that devices other than GPUs recorded
 */
#ifndef KYMO_REPORT_RELATIONS_RELATIONS_H
#define KYMO_REPORT_RELATIONS_RELATIONS_H

#include "sql/sql.h"
#include "store/tables/store.h"

/* Which tables and columns a profile has. */
struct present_tables;
bool present_find(struct present_tables **present, struct sql_connection *connection,
                  struct error *err);
/* Queries are to be over the tables of this schema, of a database that has several profiles. */
void present_in_schema(struct present_tables *present, const char *schema);
void present_free(struct present_tables *present);
/* Whether a query over tables names a column that the profile, made by an earlier version, does not
 * have: "EventType.role". What the query makes of it is NULL. */
enum { COLUMN_NAME_SIZE = 128 };
bool present_lacks(const struct present_tables *present, const char *query,
                   char column[static COLUMN_NAME_SIZE]);

struct relation_options {
    const char *host;     /* relations of the XProf tools are of this one; NULL: of all */
    const char *group_by; /* of the tree of operations */
    const char *module;   /* HLO module; NULL: that takes most time */
    bool is_xprof;        /* figures are those of XProf */
    bool has_base_names;  /* kernels without namespaces, template arguments and parameters */
};

/* Puts a query with the relations that it names, and with the tables and columns it names that the
 * profile does not have, as tables without rows are not written and earlier versions had fewer
 * columns. The query may begin with WITH, but not define what has the name of a relation. */
void relations_put(struct output *sql, const struct present_tables *present,
                   const struct relation_options *options, const char *query);

/* The same for a query over tables alone. */
void tables_put(struct output *sql, const struct present_tables *present, const char *query);

/* Puts a query that may begin with WITH behind definitions for WITH, each with a comma behind it.
 */
void definitions_put(struct output *sql, const struct output *definitions, const char *query);

#endif
