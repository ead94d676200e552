/*
 * Inside stats: the relations that reports are queries over.
 */
#ifndef KYMO_REPORT_NSIGHT_RELATIONS_H
#define KYMO_REPORT_NSIGHT_RELATIONS_H

#include "report/nsight/stats.h"

/* Definitions of the tables that the profile does not have, as those without rows are not written:
 * without rows. */
bool relations_missing(struct output *sql, struct sql_connection *connection, struct error *err);

/*
 * Begins a query: WITH, what is missing, and the definitions of
 *
 *     kernel    kernels on GPUs
 *     copy      copies and memsets, `operation` as Nsight names them
 *     work      both
 *     call      calls of the CUDA and HIP APIs on the host
 *     launched  work with the call that launched it
 *     copied    copies with that call, if it is known
 *     edge      starts and ends of work
 *     busy      when a device has work
 *     extent    when it has its first and last work
 *     gap       when it has none, and why
 *     span      ranges of the host: NVTX and record_function ranges, TraceMe annotations
 *     enclosed  calls that launched work and the ranges around them, on the same thread
 */
void relations_put(struct output *sql, const struct output *missing, bool has_base_names);

#endif
