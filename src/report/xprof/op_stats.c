/*
 * hlo_stats and framework_op_stats: operations of the compiler and of the framework, by time.
 */
#include "report/xprof/relations.h"

/* SQL has its own lines. */
/* clang-format off */

static const struct tool_column hlo_columns[] = {
    NUMBER("rank", "Rank", FOR_PROGRAMS, 0),
    STRING("program_id", "Program id", FOR_PROGRAMS),
    STRING("category", "HLO op category", FOR_PROGRAMS),
    STRING("hlo_op_name", "HLO op name", FOR_PROGRAMS),
    STRING("hlo_op_expression", "HLO op text", FOR_PROGRAMS),
    STRING("tf_op_name", "Framework op name", FOR_PROGRAMS),
    NUMBER("occurrences", "#Occurrences", FOR_PROGRAMS, 0),
    NUMBER("total_time", "Total time (us)", FOR_PROGRAMS, 3),
    NUMBER("avg_time", "Avg. time (us)", FOR_PROGRAMS, 3),
    NUMBER("total_self_time", "Total self time (us)", FOR_PROGRAMS, 3),
    NUMBER("avg_self_time", "Avg. self time (us)", FOR_PROGRAMS, 3),
    NUMBER("total_self_time_percent", "Total self time (%)", FOR_PROGRAMS, 1),
    NUMBER("cumulative_total_self_time_percent", "Cumulative total self time (%)", FOR_PROGRAMS, 1),
    NUMBER("dma_stall_percent", "%time stalled by DMA", FOR_PROGRAMS, 1),
    NUMBER("model_flop_rate", "Model GFLOP/s", FOR_PROGRAMS, 1),
    NUMBER("normalized_flop_rate", "Normalized GFLOP/s", FOR_PROGRAMS, 1),
    NUMBER("measured_memory_bw", "Measured memory BW (GiB/s)", FOR_PROGRAMS, 1),
    NUMBER("hbm_bw", "HBM BW (GiB/s)", FOR_PROGRAMS, 1),
    NUMBER("cmem_read_bw", "CMEM Read BW (GiB/s)", FOR_PROGRAMS, 1),
    NUMBER("cmem_write_bw", "CMEM Write BW (GiB/s)", FOR_PROGRAMS, 1),
    NUMBER("operational_intensity", "Operational intensity (FLOPS/Byte)", FOR_PROGRAMS, 1),
    STRING("bound_by", "Bound by", FOR_PROGRAMS),
    STRING("hlo_rematerialization", "Rematerialization", FOR_PROGRAMS),
    STRING("outside_compilation", "Outside Compilation", FOR_PROGRAMS),
    STRING("autotuned", "Autotuned", FOR_XPROF),
    STRING("source_info", "Source Info", FOR_XPROF),
    STRING("core_type", "TPU core type", FOR_PROGRAMS),
    STRING("parent_op_name", "Parent op name", FOR_PROGRAMS),
    NUMBER("vdd_energy", "VDD Energy (J)", FOR_XPROF, 1),
    STRING("source", "Source", FOR_SCRIPTS),
    STRING("attribution", "Attribution", FOR_SCRIPTS),
    NUMBER("kernels", "Kernels", FOR_SCRIPTS, 0),
    NUMBER("flops", "FLOPs", FOR_SCRIPTS, 0),
    NUMBER("bytes", "Bytes", FOR_SCRIPTS, 0),
    NUMBER("xprof_model_flop_rate", "XProf's model GFLOP/s", FOR_SCRIPTS, 1),
    NUMBER("xprof_normalized_flop_rate", "XProf's normalized GFLOP/s", FOR_SCRIPTS, 1),
    NUMBER("first_event_id", "First event", FOR_SCRIPTS, 0),
    NUMBER("total_self_time_percent", "Self (%)", FOR_PEOPLE, 1),
    NUMBER("total_self_time", "Self (us)", FOR_PEOPLE, 1),
    NUMBER("occurrences", "Count", FOR_PEOPLE, 0),
    NUMBER("avg_self_time", "Avg (us)", FOR_PEOPLE, 1),
    NUMBER("model_flop_rate", "GFLOP/s", FOR_PEOPLE, 1),
    NUMBER("hbm_bw", "HBM (GiB/s)", FOR_PEOPLE, 1),
    NUMBER("operational_intensity", "FLOP/B", FOR_PEOPLE, 1),
    STRING("bound_by", "Bound by", FOR_PEOPLE),
    STRING("category", "Category", FOR_PEOPLE),
    STRING("hlo_op_name", "Operation", FOR_PEOPLE),
    STRING("framework_op", "Framework operation", FOR_PEOPLE),
    STRING("source", "Source", FOR_PEOPLE),
};

static const struct tool_table hlo_tables[] = {
    {.name = "operations",
     .title = "HLO operations, by self time",
     .forms = FOR_ALL,
     COLUMNS_OF(hlo_columns),
     .sql = "WITH rated AS (SELECT o.*, m.whole_ns," RATES
            " FROM op o, machine m WHERE occurrences > 0)"
            " SELECT row_number() OVER ranked AS rank, program_text AS program_id, name AS hlo_op_name, expression AS hlo_op_expression,"
            " framework_op || ':' AS tf_op_name,"
            " total_ns / 1e3 AS total_time, total_ns / 1e3 / occurrences AS avg_time,"
            " self_ns / 1e3 AS total_self_time, self_ns / 1e3 / occurrences AS avg_self_time,"
            " 100.0 * self_ns / nullif(whole_ns, 0) AS total_self_time_percent,"
            " sum(100.0 * self_ns / nullif(whole_ns, 0)) OVER ranked"
            " AS cumulative_total_self_time_percent,"
            " dma_stall_ns / nullif(total_ns, 0) AS dma_stall_percent,"
            " * EXCLUDE (program_id, name, expression), " BOUND_BY " AS bound_by,"
            " CASE WHEN contains(split_part(expression, '=', 1), '.remat')"
            "  OR contains(framework_op, 'rematted_computation') THEN 'Yes' ELSE 'No' END"
            " AS hlo_rematerialization,"
            " CASE WHEN regexp_matches(framework_op, 'XlaSendToHost|XlaRecvFromHost') THEN 'Yes'"
            "  ELSE 'No' END AS outside_compilation, 'No' AS autotuned,"
            " " SOURCE_CELL " AS source_info, parent_name AS parent_op_name,"
            " 0 AS vdd_energy, " SOURCE_INFO " AS source FROM rated "
            "WINDOW ranked AS (ORDER BY self_ns DESC, name, program_id ROWS UNBOUNDED PRECEDING)"
            " ORDER BY rank"},
};

const struct xprof_tool hlo_stats = {
    .name = "hlo_stats",
    .about = "HLO operations: times, rates, what bounds them",
    .why = NO_OPERATIONS,
    TABLES_OF(hlo_tables),
};

static const struct tool_column framework_columns[] = {
    NUMBER("rank", "Rank", FOR_PROGRAMS, 0),
    STRING("host_or_device", "Host/device", FOR_PROGRAMS),
    STRING("type", "Operation Type", FOR_PROGRAMS),
    STRING("operation", "Operation Name", FOR_PROGRAMS),
    NUMBER("occurrences", "#Occurrences", FOR_PROGRAMS, 0),
    NUMBER("total_time", "Total time (us)", FOR_PROGRAMS, 3),
    NUMBER("avg_time", "Avg. time (us)", FOR_PROGRAMS, 3),
    NUMBER("total_self_time", "Total self-time (us)", FOR_PROGRAMS, 3),
    NUMBER("avg_self_time", "Avg. self-time (us)", FOR_PROGRAMS, 3),
    NUMBER("device_total_self_time_percent", "Total self-time on Device (%)", FOR_PROGRAMS, 1),
    NUMBER("device_cumulative_total_self_time_percent", "Cumulative total-self time on Device (%)",
           FOR_PROGRAMS, 1),
    NUMBER("host_total_self_time_percent", "Total self-time on Host (%)", FOR_PROGRAMS, 1),
    NUMBER("Host_cumulative_total_self_time_percent", "Cumulative total-self time on Host (%)",
           FOR_PROGRAMS, 1),
    NUMBER("measured_flop_rate", "Normalized FLOP Rate (FLOPs/s)", FOR_PROGRAMS, 1),
    NUMBER("model_flop_rate", "Model FLOP Rate (GFLOP/s)", FOR_PROGRAMS, 1),
    NUMBER("measured_memory_bw", "Measured Memory BW (GBytes/Sec)", FOR_PROGRAMS, 1),
    NUMBER("operational_intensity", "Operational Intensity (FLOPs/Byte)", FOR_PROGRAMS, 1),
    ON("GPU", "gpu_tensorcore_utilization", "GPU TensorCore utilization", CELL_NUMBER, FOR_PROGRAMS,
       2),
    STRING("bound_by", "Bound by", FOR_PROGRAMS),
    STRING("eager", "Execution mode", FOR_XPROF),
    NUMBER("xprof_model_flop_rate", "XProf's model GFLOP/s", FOR_SCRIPTS, 1),
    NUMBER("percent", "Self (%)", FOR_PEOPLE, 1),
    NUMBER("total_self_time", "Self (us)", FOR_PEOPLE, 1),
    NUMBER("occurrences", "Count", FOR_PEOPLE, 0),
    NUMBER("avg_self_time", "Avg (us)", FOR_PEOPLE, 1),
    NUMBER("model_flop_rate", "GFLOP/s", FOR_PEOPLE, 1),
    NUMBER("measured_memory_bw", "Memory (GiB/s)", FOR_PEOPLE, 1),
    NUMBER("tensor_percent", "Tensor cores (%)", FOR_PEOPLE, 0),
    STRING("bound_by", "Bound by", FOR_PEOPLE),
    STRING("host_or_device", "On", FOR_PEOPLE),
    STRING("type", "Type", FOR_PEOPLE),
    STRING("operation", "Operation", FOR_PEOPLE),
};

/* Device rows, then host rows; of each the first 500. An operation's executions are those of the
 * HLO operation that has most. */
#define FRAMEWORK_SQL(with_idle)                                                                   \
    "WITH grouped AS (SELECT coalesce(framework_op, name) AS operation,"                          \
    " coalesce(any_value(CASE WHEN framework_op IS NOT NULL THEN framework_type END), 'Unknown')"  \
    " AS type, max(occurrences) AS occurrences, sum(total_ns) AS total_ns,"                        \
    " CASE WHEN count(timed_ns) > 0 THEN sum(total_ns) END AS timed_ns, sum(self_ns) AS"           \
    " self_ns, sum(tensor_core_ns) AS tensor_core_ns, sum(flops) AS flops,"                        \
    " sum(compute_s) AS compute_s, sum(xprof_flops) AS xprof_flops,"                               \
    " sum(xprof_device_flops) AS xprof_device_flops, sum(bytes) AS bytes,"                         \
    " sum(hbm_bytes) AS hbm_bytes, sum(cmem_read_bytes) AS cmem_read_bytes,"                       \
    " sum(cmem_write_bytes) AS cmem_write_bytes, sum(vmem_read_bytes) AS vmem_read_bytes,"         \
    " sum(vmem_write_bytes) AS vmem_write_bytes FROM op GROUP BY 1"                                \
    " UNION ALL BY NAME SELECT 'IDLE' AS operation, 'IDLE' AS type, 0 AS occurrences,"             \
    " idle_ns AS total_ns, idle_ns AS timed_ns, idle_ns AS self_ns FROM machine WHERE " with_idle " AND idle_ns > 0),"  \
    " on_device AS (SELECT o.*, 100.0 * o.self_ns / nullif(sum(o.self_ns) OVER (), 0) AS percent," \
    " row_number() OVER (ORDER BY o.self_ns DESC, operation) AS place," RATES                      \
    " FROM grouped o, machine m),"                                                                 \
    " host_idle AS (SELECT greatest(h.total_ns - coalesce(sum(o.self_ns), 0), 0) AS idle_ns FROM"  \
    " host_time h LEFT JOIN host_op o ON true GROUP BY h.total_ns),"                               \
    " on_host AS (SELECT *, 100.0 * self_ns / nullif(sum(self_ns) OVER (), 0) AS percent,"         \
    " row_number() OVER (ORDER BY self_ns DESC, operation, type) AS place FROM ("                  \
    "SELECT * FROM host_op UNION ALL SELECT 'IDLE', 'IDLE', 0, idle_ns, idle_ns FROM host_idle"    \
    " WHERE " with_idle " AND idle_ns > 0))"                                                       \
    " SELECT row_number() OVER (ORDER BY side, place) AS rank, CASE side WHEN 0 THEN 'Device'"     \
    " ELSE 'Host' END AS host_or_device, type, operation, occurrences,"                            \
    " total_ns / 1e3 AS total_time, total_ns / 1e3 / nullif(occurrences, 0) AS avg_time,"          \
    " self_ns / 1e3 AS total_self_time,"                                                           \
    " self_ns / 1e3 / nullif(occurrences, 0) AS avg_self_time, percent,"                           \
    " CASE side WHEN 0 THEN percent / 100 END AS device_total_self_time_percent,"                  \
    " CASE side WHEN 0 THEN sum(percent / 100) OVER running END"                                   \
    " AS device_cumulative_total_self_time_percent,"                                               \
    " CASE side WHEN 1 THEN percent / 100 END AS host_total_self_time_percent,"                    \
    " CASE side WHEN 1 THEN sum(percent / 100) OVER running END"                                   \
    " AS Host_cumulative_total_self_time_percent, normalized_flop_rate AS measured_flop_rate,"     \
    " model_flop_rate, xprof_model_flop_rate, measured_memory_bw, operational_intensity,"          \
    " tensor_core_ns / nullif(total_ns, 0) AS gpu_tensorcore_utilization,"                         \
    " 100.0 * tensor_core_ns / nullif(total_ns, 0) AS tensor_percent,"                             \
    " bound_by, 'Function' AS eager FROM (SELECT 0 AS side, *, " BOUND_BY " AS bound_by"           \
    " FROM on_device WHERE place <= 500 UNION ALL BY NAME"                                         \
    " SELECT 1 AS side, *, 'Unknown' AS bound_by FROM on_host WHERE place <= 500)"                 \
    " WINDOW running AS (PARTITION BY side ORDER BY place ROWS UNBOUNDED PRECEDING) ORDER BY rank"

/* By the names of operations, as XProf guesses. */
#define NAMED(pattern) "coalesce(bool_or(framework_op LIKE '%" pattern "%'), false)"
#define FRAMEWORK_PROPERTIES                                                                       \
    "SELECT CASE WHEN " NAMED("LSTM") " THEN 'LSTM' WHEN " NAMED("GRU") " THEN 'GRU' WHEN "        \
    NAMED("RNN") " THEN 'RNN' WHEN " NAMED("Conv2D") " THEN 'CNN' WHEN " NAMED("MatMul")           \
    " THEN 'MLP' ELSE 'Unknown' END AS architecture_type, CASE WHEN any_value(t.is_training) THEN" \
    " 'Training' ELSE 'Inference' END AS task_type FROM training t LEFT JOIN op ON true"

static const struct tool_table framework_tables[] = {
    {.name = "operations",
     .title = "Operations of the framework, by self time",
     .forms = FOR_ALL,
     COLUMNS_OF(framework_columns),
     .sql = FRAMEWORK_SQL("true"),
     .properties = FRAMEWORK_PROPERTIES},
    {.name = "operations_without_idle",
     .title = "Without idle time",
     .forms = FOR_PROGRAMS,
     COLUMNS_OF(framework_columns),
     .sql = FRAMEWORK_SQL("false"),
     .properties = FRAMEWORK_PROPERTIES},
};

const struct xprof_tool framework_op_stats = {
    .name = "framework_op_stats",
    .about = "operations of JAX, TensorFlow or PyTorch, on devices and on the host",
    .why = "the capture has no operations",
    TABLES_OF(framework_tables),
    .is_list = true,
};
