/*
 * The reports: their SQL, in one place. relations.h says what they are queries over.
 */
#include "report/nsight/stats.h"

/* clang-format off: SQL has its own lines */

/* Columns that most summaries have: share and total, then spread, of a column of nanoseconds. */
#define SHARE(time)                                                                                \
    " 100.0 * sum(" time ") / nullif(sum(sum(" time ")) OVER (), 0) AS \"Time (%)\","              \
    " sum(" time ") AS \"Total Time (ns)\","
#define SPREAD_OF(value, unit, prefix)                                                             \
    " avg(" value ") AS \"" prefix "Avg" unit "\","                                                \
    " median(" value ") AS \"" prefix "Med" unit "\","                                             \
    " min(" value ") AS \"" prefix "Min" unit "\","                                                \
    " max(" value ") AS \"" prefix "Max" unit "\","                                                \
    " coalesce(stddev_samp(" value "), 0) AS \"" prefix "StdDev" unit "\","
#define SPREAD(time) SPREAD_OF(time, " (ns)", "")
#define BY_TIME      " ORDER BY \"Total Time (ns)\" DESC, "

/* Kernels and copies of a range: launched by a call of its thread inside it. */
#define IN_SPAN                                                                                    \
    " FROM enclosed i JOIN span s ON s.id = i.span_id JOIN launched w ON w.call_id = i.call_id"

/* Copies as the rules of Nsight list them. */
#define COPIES_WHERE(condition)                                                                    \
    "SELECT duration_ns AS \"Duration (ns)\", start_ts AS \"Start (ns)\","                         \
    " source_kind AS \"Src Kind\", destination_kind AS \"Dst Kind\","                              \
    " size_bytes / 1e6 AS \"Bytes (MB)\", process_id AS \"PID\", device_idx AS \"Device ID\","     \
    " context_id AS \"Context ID\", stream_id AS \"Stream ID\", call_name AS \"API Name\""         \
    " FROM copied WHERE " condition " ORDER BY \"Duration (ns)\" DESC, \"Start (ns)\", id"

#define NO_KERNELS "the capture has no kernels of a GPU"
#define NO_COPIES  "the capture has no copies and memsets of a GPU"
#define NO_CALLS   "the capture has no calls of the CUDA or HIP API"
#define NO_RANGES  "the capture has no NVTX ranges or annotations"
#define NO_LAUNCH  "no kernel is linked to the API call that launched it"
#define NO_WAITS   "no call of the CUDA API that waits for the GPU is in the capture"
#define NO_NCCL    "the capture has no kernels of NCCL or RCCL"
#define NO_INSIDE  "no range of the host has work of a GPU that was launched inside it"

const struct report reports[] = {
    {.name = "cuda_gpu_kern_sum",
     .alias = "gpukernsum",
     .title = "CUDA GPU Kernel Summary",
     .about = "kernels, by name",
     .why = NO_KERNELS,
     .sql = "SELECT" SHARE("duration_ns") " count(*) AS \"Instances\"," SPREAD(
         "duration_ns") " shown_name AS \"Name\""
                        " FROM kernel GROUP BY shown_name" BY_TIME "shown_name"},

    {.name = "cuda_gpu_kern_gb_sum",
     .alias = "gpukerngbsum",
     .title = "CUDA GPU Kernel/Grid/Block Summary",
     .about = "kernels, by name, grid and block size",
     .why = NO_KERNELS,
     .sql = "SELECT" SHARE("duration_ns") " count(*) AS \"Instances\"," SPREAD(
         "duration_ns") " grid AS \"GridXYZ\", block AS \"BlockXYZ\", shown_name AS \"Name\""
                        " FROM kernel GROUP BY grid, block, shown_name" BY_TIME
                        "grid, block, shown_name"},

    {.name = "cuda_gpu_mem_time_sum",
     .alias = "gpumemtimesum",
     .title = "CUDA GPU MemOps Summary (by Time)",
     .about = "copies and memsets, by kind: their time",
     .why = NO_COPIES,
     .sql = "SELECT" SHARE("duration_ns") " count(*) AS \"Count\"," SPREAD(
         "duration_ns") " operation AS \"Operation\""
                        " FROM copy GROUP BY operation" BY_TIME "operation"},

    {.name = "cuda_gpu_mem_size_sum",
     .alias = "gpumemsizesum",
     .title = "CUDA GPU MemOps Summary (by Size)",
     .about = "copies and memsets, by kind: their bytes, in millions",
     .why = NO_COPIES " whose size is known",
     .sql = "SELECT sum(size_bytes / 1e6) AS \"Total (MB)\", count(*) AS \"Count\"," SPREAD_OF(
         "size_bytes / 1e6", " (MB)",
         "") " operation AS \"Operation\""
             " FROM copy WHERE size_bytes IS NOT NULL"
             " GROUP BY operation ORDER BY \"Total (MB)\" DESC, operation"},

    {.name = "cuda_gpu_sum",
     .alias = "gpusum",
     .title = "CUDA GPU Summary (Kernels/MemOps)",
     .about = "kernels, copies and memsets in one ranking",
     .why = "the capture has no work of a GPU",
     .sql = "SELECT" SHARE("duration_ns") " count(*) AS \"Instances\"," SPREAD(
         "duration_ns") " category AS \"Category\", operation AS \"Operation\""
                        " FROM work GROUP BY category, operation" BY_TIME "category, operation"},

    {.name = "cuda_api_sum",
     .alias = "cudaapisum",
     .title = "CUDA API Summary",
     .about = "calls of the CUDA API on the host, by function",
     .why = NO_CALLS,
     .sql = "SELECT" SHARE("duration_ns") " count(*) AS \"Num Calls\"," SPREAD(
         "duration_ns") " name AS \"Name\""
                        " FROM call GROUP BY name" BY_TIME "name"},

    {.name = "cuda_api_gpu_sum",
     .alias = "apigpusum",
     .title = "CUDA Summary (API/Kernels/MemOps)",
     .about = "API calls, kernels, copies and memsets in one ranking",
     .why = "the capture has no calls of the CUDA API and no work of a GPU",
     .sql = "SELECT" SHARE("duration_ns") " count(*) AS \"Instances\"," SPREAD(
         "duration_ns") " category AS \"Category\", operation AS \"Operation\""
                        " FROM (SELECT duration_ns, category, operation FROM work"
                        "  UNION ALL SELECT duration_ns, 'CUDA_API', name FROM call)"
                        " GROUP BY category, operation" BY_TIME "category, operation"},

    {.name = "cuda_kern_exec_sum",
     .alias = "kernexecsum",
     .title = "CUDA Kernel Launch & Exec Time Summary",
     .about = "from launch to end: total (T), API call (A), queue (Q) and kernel (K) time",
     .why = NO_LAUNCH,
     .sql = "SELECT process_id AS \"PID\", thread_id AS \"TID\", device_idx AS \"DevId\","
            " count(*) AS \"Count\", count(queue_ns) AS \"QCount\"," SPREAD_OF(
                "end_ts - call_start", " (ns)",
                "T") SPREAD_OF("call_ns", " (ns)", "A") SPREAD_OF("queue_ns", " (ns)", "Q")
                SPREAD_OF("duration_ns", " (ns)",
                          "K") " call_name AS \"API Name\", operation AS \"Kernel Name\""
                               " FROM launched WHERE category = 'CUDA_KERNEL'"
                               " GROUP BY process_id, thread_id, device_idx, call_name, operation"
                               " ORDER BY sum(end_ts - call_start) DESC, process_id, thread_id, "
                               "device_idx, call_name,"
                               "  operation"},

    {.name = "cuda_api_sync_sum",
     .title = "CUDA Synchronization Summary",
     .about = "calls that wait for the GPU, by function",
     .why = NO_WAITS,
     .sql = "SELECT" SHARE("duration_ns") " count(*) AS \"Num Calls\"," SPREAD(
         "duration_ns") " name AS \"Name\""
                        " FROM call WHERE is_wait GROUP BY name" BY_TIME "name"},

    {.name = "nvtx_pushpop_sum",
     .alias = "nvtx_sum",
     .title = "NVTX Push/Pop Range Summary",
     .about = "ranges of the host, by name: NVTX, record_function, TraceAnnotation",
     .why = NO_RANGES,
     .sql = "SELECT" SHARE("duration_ns") " count(*) AS \"Instances\"," SPREAD(
         "duration_ns") " name AS \"Range\""
                        " FROM span GROUP BY name" BY_TIME "name"},

    {.name = "nvtx_gpu_proj_sum",
     .title = "NVTX GPU Projection Summary",
     .about = "ranges by name, from the first to the last work on the GPU launched inside them",
     .why = NO_INSIDE,
     .sql = "SELECT name AS \"Range\", 'PushPop' AS \"Style\","
            " sum(projected_ns) AS \"Total Proj Time (ns)\","
            " sum(duration_ns) AS \"Total Range Time (ns)\", count(*) AS \"Range "
            "Instances\"," SPREAD_OF(
                "projected_ns", " (ns)",
                "Proj ") " sum(ops) AS \"Total GPU Ops\", avg(ops) AS \"Avg GPU Ops\""
                         " FROM (SELECT s.id, s.name, s.duration_ns, count(*) AS ops,"
                         "   max(w.end_ts) - min(w.start_ts) AS projected_ns" IN_SPAN
                         "  GROUP BY s.id, s.name, s.duration_ns)"
                         " GROUP BY name ORDER BY \"Total Proj Time (ns)\" DESC, name"},

    {.name = "nvtx_kern_sum",
     .alias = "nvtxkernsum",
     .title = "NVTX Range Kernel Summary",
     .about = "ranges by name, with the kernels launched inside them",
     .why = NO_INSIDE,
     .sql = "SELECT s.name AS \"NVTX Range\", 'PushPop' AS \"Style\","
            " s.process_id AS \"PID\", s.thread_id AS \"TID\","
            " count(DISTINCT s.id) AS \"NVTX Inst\", count(*) AS \"Kern Inst\","
            " sum(w.duration_ns) AS \"Total Time (ns)\"," SPREAD(
                "w.duration_ns") " w.operation AS \"Kernel Name\"" IN_SPAN
                                 " WHERE w.category = 'CUDA_KERNEL'"
                                 " GROUP BY s.name, s.process_id, s.thread_id, w.operation" BY_TIME
                                 "s.name, s.process_id, s.thread_id, w.operation"},

    {.name = "nccl_sum",
     .title = "NCCL Kernel Summary",
     .about = "kernels of NCCL and RCCL, by name",
     .why = NO_NCCL,
     .sql = "SELECT" SHARE("duration_ns") " count(*) AS \"Instances\"," SPREAD(
         "duration_ns") " shown_name AS \"Name\""
                        " FROM kernel WHERE is_nccl GROUP BY shown_name" BY_TIME "shown_name"},

    {.name = "nccl_gpu_overlap_sum",
     .title = "NCCL and Compute Overlap Summary",
     .about = "of each GPU: when NCCL runs, alone or beside other kernels",
     .why = NO_NCCL,
     .sql = "SELECT instance_id AS \"Host\", device_idx AS \"DevId\","
            " sum(part_ns) FILTER (nccl > 0) AS \"NCCL Time (ns)\","
            " coalesce(sum(part_ns) FILTER (compute > 0), 0) AS \"Compute Time (ns)\","
            " coalesce(sum(part_ns) FILTER (nccl > 0 AND compute > 0), 0) AS \"Overlap Time (ns)\","
            " coalesce(sum(part_ns) FILTER (nccl > 0 AND compute = 0), 0) AS"
            "  \"Exposed NCCL Time (ns)\","
            " 100.0 * coalesce(sum(part_ns) FILTER (nccl > 0 AND compute > 0), 0) /"
            "  sum(part_ns) FILTER (nccl > 0) AS \"NCCL Overlapped (%)\""
            " FROM (SELECT instance_id, device_idx, lead(ts) OVER now - ts AS part_ns,"
            "   sum(nccl_change) OVER now AS nccl, sum(compute_change) OVER now AS compute"
            "  FROM (SELECT instance_id, device_idx, ts,"
            "    sum(CASE WHEN is_nccl THEN change ELSE 0 END) AS nccl_change,"
            "    sum(CASE WHEN is_nccl THEN 0 ELSE change END) AS compute_change"
            "   FROM edge WHERE category = 'CUDA_KERNEL' GROUP BY instance_id, device_idx, ts)"
            "  WINDOW now AS (PARTITION BY instance_id, device_idx ORDER BY ts))"
            " GROUP BY instance_id, device_idx HAVING sum(part_ns) FILTER (nccl > 0) > 0"
            " ORDER BY instance_id, device_idx"},

    {.name = "hlo_op_sum",
     .title = "HLO Operation Summary",
     .about = "kernels, by HLO operation of XLA, with the line of the program",
     .why = "no kernel has an HLO operation: this is no program of XLA, or its names are missing",
     .sql = "SELECT" SHARE("duration_ns") " count(*) AS \"Instances\"," SPREAD(
         "duration_ns") " hlo_module AS \"Module\", hlo AS \"Operation\", opcode AS \"Opcode\","
                        " source AS \"Source\""
                        " FROM (SELECT k.duration_ns, k.hlo_module, coalesce(o.name, k.hlo_op) AS "
                        "hlo, o.opcode,"
                        "   CASE WHEN o.source_line > 0 THEN o.source_file || ':' || o.source_line "
                        "END AS source"
                        "  FROM kernel k LEFT JOIN HloOperation o ON o.id = k.operation_id)"
                        " WHERE hlo IS NOT NULL GROUP BY hlo_module, hlo, opcode, source" BY_TIME
                        "hlo_module, hlo, opcode, source"},

    {.name = "framework_op_sum",
     .title = "Framework Operator Summary",
     .about = "kernels, by the operator of the framework that launched them",
     .why = "no kernel has an operator of a framework",
     .sql = "SELECT" SHARE("duration_ns") " count(*) AS \"Instances\"," SPREAD(
         "duration_ns") " framework_op AS \"Operator\""
                        " FROM kernel WHERE framework_op IS NOT NULL GROUP BY framework_op" BY_TIME
                        "framework_op"},

    {.name = "gpu_gaps",
     .kind = REPORT_TRACE,
     .title = "GPU Gaps",
     .about = "when a GPU has no work for more than 20 us, the longest first, and why",
     .why = "no GPU is idle for more than 20 us between two pieces of work",
     .sql = "SELECT to_ts - from_ts AS \"Duration (ns)\", from_ts AS \"Start (ns)\","
            " device_idx AS \"Device ID\", instance_id AS \"Host\", cause AS \"Cause\","
            " waited_in AS \"Waited In\", next_id AS \"Next Event ID\", operation AS \"Next\""
            " FROM gap WHERE to_ts - from_ts > 20000"
            " ORDER BY \"Duration (ns)\" DESC, \"Start (ns)\", next_id"},

    /* Parts of equal length under the threshold, neighbours merged. */
    {.name = "gpu_time_util",
     .kind = REPORT_TRACE,
     .title = "GPU Time Utilization",
     .about = "when a GPU is busy for less than half of the time, in 30 parts of its time",
     .why = "every GPU is busy for at least half of each part of its time",
     .sql = "SELECT 100.0 * sum(busy_ns) / sum(part_ns) AS \"In-Use (%)\","
            " sum(part_ns) AS \"Duration (ns)\", min(part_ts) AS \"Start (ns)\","
            " device_idx AS \"Device ID\", instance_id AS \"Host\""
            " FROM (SELECT *, part - row_number() OVER (PARTITION BY instance_id, device_idx"
            "   ORDER BY part) AS island"
            "  FROM (SELECT p.*, coalesce(b.busy_ns, 0) AS busy_ns"
            "   FROM (SELECT instance_id, device_idx, n.part, first_ts + n.part * width AS part_ts,"
            "     least(width, whole_ns - n.part * width) AS part_ns"
            "    FROM extent CROSS JOIN (SELECT unnest(range(30)) AS part) n) p"
            "   LEFT JOIN (SELECT instance_id, device_idx, part,"
            "     sum(least(to_ts, first_ts + (part + 1) * width) -"
            "      greatest(from_ts, first_ts + part * width)) AS busy_ns"
            "    FROM (SELECT b.*, e.first_ts, e.width,"
            "      unnest(range((b.from_ts - e.first_ts) // e.width,"
            "       (b.to_ts - e.first_ts - 1) // e.width + 1)) AS part"
            "     FROM busy b JOIN extent e ON e.instance_id = b.instance_id"
            "      AND coalesce(e.device_idx, -1) = coalesce(b.device_idx, -1))"
            "    GROUP BY instance_id, device_idx, part) b"
            "   ON b.instance_id = p.instance_id AND b.part = p.part"
            "    AND coalesce(b.device_idx, -1) = coalesce(p.device_idx, -1))"
            "  WHERE part_ns > 0 AND busy_ns < 0.5 * part_ns)"
            " GROUP BY instance_id, device_idx, island"
            " ORDER BY \"In-Use (%)\", \"Start (ns)\", instance_id, device_idx"},

    {.name = "cuda_memcpy_async",
     .kind = REPORT_TRACE,
     .title = "CUDA Async Memcpy with Pageable Memory",
     .about = "asynchronous copies from or to pageable memory, which are synchronous in effect",
     .why = "no asynchronous copy from or to pageable memory is in the capture",
     .sql =
         COPIES_WHERE("NOT is_set AND NOT is_blocking"
                      " AND (source_kind ILIKE 'pageable' OR destination_kind ILIKE 'pageable')")},

    {.name = "cuda_memcpy_sync",
     .kind = REPORT_TRACE,
     .title = "CUDA Synchronous Memcpy",
     .about = "synchronous copies between host and GPU, which block the host",
     .why = "no synchronous copy between host and GPU is in the capture",
     .sql = COPIES_WHERE(
         "NOT is_set AND is_blocking AND operation <> '[CUDA memcpy Device-to-Device]'")},

    {.name = "cuda_memset_sync",
     .kind = REPORT_TRACE,
     .title = "CUDA Synchronous Memset",
     .about = "memsets through the synchronous API",
     .why = "no synchronous memset is in the capture",
     .sql = COPIES_WHERE("is_set AND is_blocking")},

    {.name = "cuda_api_sync",
     .kind = REPORT_TRACE,
     .title = "CUDA Synchronization APIs",
     .about = "each call that waits for the GPU, the longest first",
     .why = NO_WAITS,
     .sql = "SELECT duration_ns AS \"Duration (ns)\", start_ts AS \"Start (ns)\","
            " process_id AS \"PID\", thread_id AS \"TID\", name AS \"API Name\""
            " FROM call WHERE is_wait ORDER BY \"Duration (ns)\" DESC, \"Start (ns)\", id"},

    {.name = "cuda_gpu_trace",
     .alias = "gputrace",
     .kind = REPORT_TRACE,
     .title = "CUDA GPU Trace",
     .about = "each kernel, copy and memset, by start",
     .why = "the capture has no work of a GPU",
     .sql = "SELECT w.start_ts AS \"Start (ns)\", w.duration_ns AS \"Duration (ns)\","
            " w.correlation_id AS \"CorrId\","
            " k.grid_x AS \"GrdX\", k.grid_y AS \"GrdY\", k.grid_z AS \"GrdZ\","
            " k.block_x AS \"BlkX\", k.block_y AS \"BlkY\", k.block_z AS \"BlkZ\","
            " k.registers_per_thread AS \"Reg/Trd\","
            " k.static_shared_bytes / 1e6 AS \"StcSMem (MB)\","
            " k.dynamic_shared_bytes / 1e6 AS \"DymSMem (MB)\","
            " c.size_bytes / 1e6 AS \"Bytes (MB)\","
            " c.size_bytes * 1e3 / nullif(c.duration_ns, 0) AS \"Throughput (MB/s)\","
            " c.source_kind AS \"SrcMemKd\", c.destination_kind AS \"DstMemKd\","
            " w.device_idx AS \"Device\", w.context_id AS \"Ctx\", w.stream_id AS \"Strm\","
            " w.operation AS \"Name\""
            " FROM work w LEFT JOIN GpuKernel k ON k.id = w.id LEFT JOIN GpuCopy c ON c.id = w.id"
            " ORDER BY w.start_ts, w.id"},

    {.name = "cuda_api_trace",
     .alias = "cudaapitrace",
     .kind = REPORT_TRACE,
     .title = "CUDA API Trace",
     .about = "each call of the CUDA API, by start",
     .why = NO_CALLS,
     .sql = "SELECT start_ts AS \"Start (ns)\", duration_ns AS \"Duration (ns)\", name AS \"Name\","
            " process_id AS \"Pid\", thread_id AS \"Tid\""
            " FROM call ORDER BY start_ts, id"},

    {.name = "cuda_kern_exec_trace",
     .alias = "kernexectrace",
     .kind = REPORT_TRACE,
     .title = "CUDA Kernel Launch & Exec Time Trace",
     .about = "each kernel with its launch, by the launch's start",
     .why = NO_LAUNCH,
     .sql = "SELECT call_start AS \"API Start (ns)\", call_ns AS \"API Dur (ns)\","
            " CASE WHEN queue_ns > 0 THEN call_end END AS \"Queue Start (ns)\","
            " queue_ns AS \"Queue Dur (ns)\", start_ts AS \"Kernel Start (ns)\","
            " duration_ns AS \"Kernel Dur (ns)\", end_ts - call_start AS \"Total Dur (ns)\","
            " process_id AS \"PID\", thread_id AS \"TID\", device_idx AS \"DevId\","
            " call_name AS \"API Function\", operation AS \"Kernel Name\""
            " FROM launched WHERE category = 'CUDA_KERNEL' ORDER BY call_start, start_ts, id"},

    {.name = "nvtx_pushpop_trace",
     .kind = REPORT_TRACE,
     .title = "NVTX Push/Pop Range Trace",
     .about = "each range of the host, by start",
     .why = NO_RANGES,
     .sql = "SELECT start_ts AS \"Start (ns)\", end_ts AS \"End (ns)\","
            " duration_ns AS \"Duration (ns)\", name AS \"Name\","
            " process_id AS \"PID\", thread_id AS \"TID\""
            " FROM span ORDER BY start_ts, id"},

    {.name = "nvtx_gpu_proj_trace",
     .kind = REPORT_TRACE,
     .title = "NVTX GPU Projection Trace",
     .about = "each range of the host with work on the GPU launched inside it",
     .why = NO_INSIDE,
     .sql = "SELECT s.name AS \"Name\", min(w.start_ts) AS \"Projected Start (ns)\","
            " max(w.end_ts) - min(w.start_ts) AS \"Projected Duration (ns)\","
            " s.start_ts AS \"Orig Start (ns)\", s.duration_ns AS \"Orig Duration (ns)\","
            " 'PushPop' AS \"Style\", s.process_id AS \"PID\", s.thread_id AS \"TID\","
            " count(*) AS \"NumGPUOps\", s.id AS \"RangeId\"" IN_SPAN
            " GROUP BY s.id, s.name, s.start_ts, s.duration_ns, s.process_id, s.thread_id"
            " ORDER BY \"Projected Start (ns)\", \"RangeId\""},
};

/* clang-format on */

const size_t report_count = sizeof reports / sizeof *reports;
