/*
 * Inside tools: the relations that tools are queries over.
 *
 *     option     one row: what was asked for (host, group_by, XProf's figures)
 *     kernel     kernels on GPUs, with the host and what XProf takes for the operation
 *     memory     allocations and frees, as XProf numbers them
 *     exchange   collectives of GPUs, as they run on devices
 *     counter    samples of counters of devices
 *     accelerator  the devices that tools speak of
 *     machine    one row: their kind, their peaks, their time
 *     op         operations of all these devices, with what they cost
 *     step_part  steps and their parts
 *     host_op    operations of the host: their kind, count and time
 *     host_time  one row: the time from their first to their last, of all threads
 *     training   one row: whether a program has gradients
 */
#ifndef KYMO_REPORT_XPROF_RELATIONS_H
#define KYMO_REPORT_XPROF_RELATIONS_H

#include "report/xprof/tool.h"

/* SQL has its own lines. */
/* clang-format off */

/* What a relation with the columns of op has by time: rates, utilisation, what bounds it. GiB/s are
 * XProf's unit. m is the machine; timed_ns the time that work takes, NULL if it is not known. */
#define GIB_PER_S(bytes) "(" bytes ") / nullif(timed_ns, 0) / 1.073741824"
#define UTILISATION(bytes, peak)                                                                   \
    "CASE WHEN timed_ns IS NOT NULL THEN coalesce((" bytes ") * 1e9 / nullif(timed_ns, 0) /"       \
    " nullif(" peak ", 0), 0) END"
#define RATES                                                                                      \
    " flops / nullif(timed_ns, 0) AS model_flop_rate,"                                             \
    " compute_s * m.peak_flops / nullif(timed_ns, 0) AS normalized_flop_rate,"                     \
    " xprof_flops / nullif(timed_ns, 0) AS xprof_model_flop_rate,"                                 \
    " xprof_device_flops / nullif(timed_ns, 0) AS xprof_normalized_flop_rate,"                     \
    " " GIB_PER_S("bytes") " AS measured_memory_bw,"                                               \
    " " GIB_PER_S("hbm_bytes") " AS hbm_bw,"                                                       \
    " " GIB_PER_S("cmem_read_bytes") " AS cmem_read_bw,"                                           \
    " " GIB_PER_S("cmem_write_bytes") " AS cmem_write_bw,"                                         \
    " " GIB_PER_S("vmem_read_bytes") " AS vmem_read_bw,"                                           \
    " " GIB_PER_S("vmem_write_bytes") " AS vmem_write_bw,"                                         \
    " flops / nullif(bytes, 0) AS operational_intensity,"                                          \
    " flops / nullif(hbm_bytes, 0) AS hbm_operational_intensity,"                                  \
    " flops / nullif(cmem_read_bytes, 0) AS cmem_read_operational_intensity,"                      \
    " flops / nullif(cmem_write_bytes, 0) AS cmem_write_operational_intensity,"                    \
    " flops / nullif(vmem_read_bytes, 0) AS vmem_read_operational_intensity,"                      \
    " flops / nullif(vmem_write_bytes, 0) AS vmem_write_operational_intensity,"                    \
    " CASE WHEN timed_ns IS NOT NULL THEN coalesce(compute_s * 1e9 / nullif(timed_ns, 0), 0) END"  \
    " AS compute_use,"                                                                             \
    " " UTILISATION("hbm_bytes", "m.hbm_peak") " AS hbm_use,"                                      \
    " " UTILISATION("cmem_read_bytes", "m.cmem_read_peak") " AS cmem_read_use,"                    \
    " " UTILISATION("cmem_write_bytes", "m.cmem_write_peak") " AS cmem_write_use,"                 \
    " " UTILISATION("vmem_read_bytes", "m.vmem_read_peak") " AS vmem_read_use,"                    \
    " " UTILISATION("vmem_write_bytes", "m.vmem_write_peak") " AS vmem_write_use"
/* Of a relation with RATES. The first of equals wins, as in XProf. */
#define USES     "compute_use, hbm_use, cmem_read_use, cmem_write_use, vmem_read_use, vmem_write_use"
#define BEST_USE "greatest(" USES ")"
#define BOUND_BY                                                                                   \
    "CASE WHEN coalesce(" BEST_USE ", 0) <= 0 THEN 'Unknown' ELSE ['Compute', 'HBM', 'CMEM Read',"              \
    " 'CMEM Write', 'VMEM Read', 'VMEM Write'][list_position([" USES "], " BEST_USE ")] END"
/* Where an operation is in the program: "train.py:31". */
#define SOURCE_INFO "source_file || coalesce(':' || source_line, '')"
/* The same as XProf's cell. */
#define SOURCE_HTML                                                                                \
    "replace(replace(replace(replace(" SOURCE_INFO ", '&', '&amp;'), '<', '&lt;'), '>', '&gt;'),"  \
    " chr(39), '&#39;')"
#define SOURCE_CELL                                                                                \
    "'<div class=' || chr(39) || 'source-info-cell' || chr(39) || ' title=' || chr(39) ||"         \
    " " SOURCE_HTML " || chr(39) || '>' || " SOURCE_HTML " || '</div>'"

/* clang-format on */

/* Puts WITH and the relations that a query is over; the query, or more relations, follow. */
void relations_begin(struct output *sql, const struct tool_run *run, const char *query);

#endif
