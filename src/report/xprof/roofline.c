/*
 * roofline_model: how near programs and operations come to what their device can do.
 */
#include "report/xprof/relations.h"

/* SQL has its own lines. */
/* clang-format off */

#define PERCENT_COLUMNS(forms)                                                                     \
    NUMBER("total_self_time_percent", "Total self time (%)", forms, 3),                            \
        NUMBER("cumulative_total_self_time_percent", "Cumulative total self time (%)", forms, 3)

static const struct tool_column columns[] = {
    STRING("step", "Step", FOR_PROGRAMS),
    NUMBER("rank", "Rank", FOR_PROGRAMS, 0),
    STRING("category", "Category", FOR_PROGRAMS),
    STRING("operation", "Operation", FOR_PROGRAMS),
    NUMBER("occurrences", "# Occurrences", FOR_PROGRAMS, 0),
    NUMBER("total_time", "Total Time (us)", FOR_PROGRAMS, 3),
    NUMBER("avg_time", "Avg. time (us)", FOR_PROGRAMS, 3),
    NUMBER("total_self_time", "Total self time (us)", FOR_PROGRAMS, 3),
    NUMBER("avg_self_time", "Avg. self time (us)", FOR_PROGRAMS, 3),
    PERCENT_COLUMNS(FOR_PROGRAMS),
    ON("TPU", "dma_stall_percent", "%time stalled by DMA", CELL_NUMBER, FOR_PROGRAMS, 1),
    NUMBER("measured_flop_rate", "Normalized FLOP Rate (GFLOP/s)", FOR_PROGRAMS, 1),
    NUMBER("model_flop_rate", "Model FLOP Rate (GFLOP/s)", FOR_PROGRAMS, 1),
    NUMBER("measured_memory_bw", "Memory BW (GiB/s)", FOR_PROGRAMS, 1),
    NUMBER("hbm_bw", "HBM BW (GiB/s)", FOR_PROGRAMS, 1),
    ON("TPU", "cmem_read_bw", "CMEM Read BW (GiB/s)", CELL_NUMBER, FOR_PROGRAMS, 1),
    ON("TPU", "cmem_write_bw", "CMEM Write BW (GiB/s)", CELL_NUMBER, FOR_PROGRAMS, 1),
    ON("TPU", "vmem_read_bw", "VMEM Read BW (GiB/s)", CELL_NUMBER, FOR_PROGRAMS, 1),
    ON("TPU", "vmem_write_bw", "VMEM Write BW (GiB/s)", CELL_NUMBER, FOR_PROGRAMS, 1),
    ON("not TPU", "vmem_write_bw", "SHM/L1 BW (GiB/s)", CELL_NUMBER, FOR_XPROF, 1),
    NUMBER("operational_intensity", "Operational Intensity (FLOP/Byte)", FOR_PROGRAMS, 1),
    NUMBER("hbm_operational_intensity", "HBM Operational Intensity (FLOP/Byte)", FOR_PROGRAMS, 1),
    ON("TPU", "cmem_read_operational_intensity", "CMEM Read Operational Intensity (FLOP/Byte)",
       CELL_NUMBER, FOR_PROGRAMS, 1),
    ON("TPU", "cmem_write_operational_intensity", "CMEM Write Operational Intensity (FLOP/Byte)",
       CELL_NUMBER, FOR_PROGRAMS, 1),
    ON("TPU", "vmem_read_operational_intensity", "VMEM Read Operational Intensity (FLOP/Byte)",
       CELL_NUMBER, FOR_PROGRAMS, 1),
    ON("TPU", "vmem_write_operational_intensity", "VMEM Write Operational Intensity (FLOP/Byte)",
       CELL_NUMBER, FOR_PROGRAMS, 1),
    ON("not TPU", "vmem_write_operational_intensity", "SHM/L1 Operational Intensity (FLOP/Byte)",
       CELL_NUMBER, FOR_XPROF, 1),
    NUMBER("bottleneck_operational_intensity", "Bottleneck Operational Intensity (FLOP/Byte)",
           FOR_PROGRAMS, 1),
    STRING("bound_by", "Bound by", FOR_PROGRAMS),
    NUMBER("total_time_per_core", "Total Time per core (us)", FOR_PROGRAMS, 3),
    NUMBER("total_time_in_percentage", "Total Time (%)", FOR_PROGRAMS, 3),
    NUMBER("optimal_flop_rate", "Optimal FLOP Rate (GFLOP/s)", FOR_PROGRAMS, 1),
    NUMBER("roofline_efficiency", "Roofline efficiency (%)", FOR_PROGRAMS, 3),
    NUMBER("compute_efficiency", "FLOP Rate / Peak (%)", FOR_PROGRAMS, 3),
    NUMBER("max_mem_bw_utilization", "Max memory BW utilization (among supported memories) (%)",
           FOR_PROGRAMS, 3),
    FLAG("include_infeed_outfeed", "Include Infeed/Outfeed", FOR_PROGRAMS),
    STRING("hlo_module_id", "Program ID", FOR_PROGRAMS),
    STRING("source_info", "Source Info", FOR_XPROF),
    STRING("source", "Source", FOR_SCRIPTS),
    NUMBER("xprof_model_flop_rate", "XProf's model GFLOP/s", FOR_SCRIPTS, 1),
};
static const struct tool_column short_columns[] = {
    NUMBER("percent", "Self (%)", FOR_PEOPLE, 1),
    NUMBER("total_time", "Total (us)", FOR_PEOPLE, 1),
    NUMBER("model_flop_rate", "GFLOP/s", FOR_PEOPLE, 1),
    NUMBER("hbm_bw", "HBM (GiB/s)", FOR_PEOPLE, 1),
    NUMBER("operational_intensity", "FLOP/B", FOR_PEOPLE, 1),
    STRING("bound_by", "Bound by", FOR_PEOPLE),
    NUMBER("efficiency", "Of the roof (%)", FOR_PEOPLE, 1),
    NUMBER("compute", "Of peak FLOP/s (%)", FOR_PEOPLE, 1),
    NUMBER("memory", "Of peak memory (%)", FOR_PEOPLE, 1),
    STRING("category", "Category", FOR_PEOPLE),
    STRING("operation", "Operation", FOR_PEOPLE),
};
static const struct tool_column device_columns[] = {
    STRING("name", "Device", FOR_USERS),
    NUMBER("devices", "Count", FOR_USERS, 0),
    NUMBER("tflops", "Peak (TFLOP/s)", FOR_USERS, 1),
    STRING("peak_type", "of", FOR_USERS),
    NUMBER("hbm_gb_per_s", "HBM (GB/s)", FOR_USERS, 1),
    NUMBER("cmem_read_gb_per_s", "CMEM read (GB/s)", FOR_SCRIPTS, 1),
    NUMBER("cmem_write_gb_per_s", "CMEM write (GB/s)", FOR_SCRIPTS, 1),
    NUMBER("vmem_read_gb_per_s", "VMEM read (GB/s)", FOR_SCRIPTS, 1),
    NUMBER("vmem_write_gb_per_s", "VMEM write (GB/s)", FOR_SCRIPTS, 1),
    NUMBER("ridge", "Ridge (FLOP/B)", FOR_USERS, 1),
    NUMBER("xprof_tflops", "XProf's peak (TFLOP/s)", FOR_USERS, 1),
};

/* Rows of operations and one of the whole: the time of the devices, the costs of operations that
 * hold no others. */
#define WHOLE(condition)                                                                           \
    "any_value(m.whole_ns) - coalesce(sum(o.self_ns) FILTER (NOT (" condition ")), 0)"
#define ROWS(condition, is_included)                                                               \
    "SELECT 'Total' AS step, 0 AS rank, 'Program' AS category, 'Program' AS name,"                 \
    " '0' AS program_text,"                                                                        \
    " 1 AS occurrences, " WHOLE(condition) " AS total_ns, " WHOLE(condition) " AS timed_ns,"       \
    " 0 AS self_ns, any_value(m.whole_ns) AS all_ns, NULL AS source_file,"      \
    " NULL AS source_line, sum(dma_stall_ns) AS dma_stall_ns, " SUMS(" FILTER (" condition         \
    " AND NOT is_holder)") ", " is_included " AS include_infeed_outfeed FROM machine m LEFT JOIN"  \
    " part o ON true UNION ALL BY NAME SELECT 'Total' AS step, place AS rank, category, name, program_text,"          \
    " occurrences, total_ns, timed_ns, self_ns, all_ns, source_file, source_line, dma_stall_ns, flops,"      \
    " compute_s, xprof_flops, xprof_device_flops, bytes, hbm_bytes, cmem_read_bytes,"              \
    " cmem_write_bytes, vmem_read_bytes, vmem_write_bytes, " is_included                           \
    " AS include_infeed_outfeed FROM (SELECT o.*, m.whole_ns AS all_ns, row_number() OVER"         \
    " (ORDER BY self_ns DESC, name, program_id) AS place FROM part o, machine m WHERE " condition  \
    ") WHERE place <= 1000"
#define SUM_OF(name, filter) "sum(o." name ")" filter " AS " name
#define SUMS(filter)                                                                               \
    SUM_OF("flops", filter) ", " SUM_OF("compute_s", filter) ", " SUM_OF("xprof_flops", filter)    \
    ", " SUM_OF("xprof_device_flops", filter) ", " SUM_OF("bytes", filter) ", "                    \
    SUM_OF("hbm_bytes", filter) ", " SUM_OF("cmem_read_bytes", filter) ", "                        \
    SUM_OF("cmem_write_bytes", filter) ", " SUM_OF("vmem_read_bytes", filter) ", "                 \
    SUM_OF("vmem_write_bytes", filter)

/* The whole of each step, and their mean: the time of the step on all devices, the costs of the
 * operations that ran in it, which tables have of GPUs. */
#define EACH(name) "sum(o." name " / o.occurrences) AS " name
#define MEAN_OF(name) "avg(" name ") AS " name
#define STEP_COSTS(of)                                                                             \
    of("flops") ", " of("compute_s") ", " of("xprof_flops") ", " of("xprof_device_flops") ", "     \
    of("bytes") ", " of("hbm_bytes")
#define STEPS                                                                                      \
    "SELECT *, 0 AS rank, 'Program' AS category, 'Program' AS name, '0' AS program_text,"          \
    " 1 AS occurrences, total_ns AS timed_ns, 0 AS self_ns, total_ns AS all_ns,"                   \
    " true AS include_infeed_outfeed FROM (WITH cost AS (SELECT r.step_id, " STEP_COSTS(EACH)      \
    " FROM HloRun r JOIN part o ON o.operation_id = r.operation_id WHERE r.kind = 'operation' AND" \
    " NOT o.is_holder GROUP BY r.step_id), step_row AS (SELECT any_value(b.number) AS number,"     \
    " sum(b.duration_ns) AS total_ns, any_value(COLUMNS(c.* EXCLUDE (step_id))) FROM StepBreakdown"\
    " b JOIN accelerator d ON d.id = b.device_id JOIN cost c ON c.step_id = b.step_id GROUP BY"    \
    " b.step_id) SELECT number::VARCHAR AS step, * EXCLUDE (number) FROM step_row UNION ALL BY"    \
    " NAME SELECT 'Average' AS step, avg(total_ns) AS total_ns, " STEP_COSTS(MEAN_OF)              \
    " FROM step_row HAVING count(*) > 0)"

#define ROOFLINE                                                                                   \
    "WITH part AS (SELECT *, coalesce(category IN ('call', 'conditional', 'while',"                \
    " 'megacore fusion'), false) AS is_holder, coalesce(category IN ('infeed', 'outfeed'), false)" \
    " AS is_feed FROM op WHERE occurrences > 0), listed AS (" ROWS("true", "true") " UNION ALL BY" \
    " NAME " ROWS("NOT is_feed", "false") " UNION ALL BY NAME " STEPS "), rated AS (SELECT o.*, m.devices, m.peak_flops,"      \
    RATES " FROM listed o, machine m)"                                                             \
    " SELECT step, rank, category, name AS operation, occurrences,"                     \
    " total_ns / 1e3 AS total_time, total_ns / 1e3 / occurrences AS avg_time,"                     \
    " self_ns / 1e3 AS total_self_time, self_ns / 1e3 / occurrences AS avg_self_time,"             \
    " self_ns / nullif(all_ns, 0) AS total_self_time_percent,"                                     \
    " sum(self_ns / nullif(all_ns, 0)) OVER (PARTITION BY include_infeed_outfeed, step ORDER BY"   \
    " rank"                                                                                        \
    " ROWS UNBOUNDED PRECEDING) AS cumulative_total_self_time_percent,"                            \
    " dma_stall_ns / nullif(total_ns, 0) AS dma_stall_percent,"                                    \
    " normalized_flop_rate AS measured_flop_rate, " BOUND_BY " AS bound_by,"                       \
    " CASE bound_by WHEN 'CMEM Read' THEN cmem_read_operational_intensity"                         \
    " WHEN 'CMEM Write' THEN cmem_write_operational_intensity"                                     \
    " WHEN 'VMEM Read' THEN vmem_read_operational_intensity"                                       \
    " WHEN 'VMEM Write' THEN vmem_write_operational_intensity"                                     \
    " WHEN 'Unknown' THEN 0 ELSE hbm_operational_intensity END"                                    \
    " AS bottleneck_operational_intensity, total_ns / 1e3 / devices AS total_time_per_core,"       \
    " total_ns / nullif(all_ns, 0) AS total_time_in_percentage,"                                   \
    " normalized_flop_rate / nullif(" BEST_USE ", 0) AS optimal_flop_rate,"                        \
    " " BEST_USE " AS roofline_efficiency, compute_use AS compute_efficiency,"                     \
    " greatest(hbm_use, cmem_read_use, cmem_write_use, vmem_read_use, vmem_write_use)"             \
    " AS max_mem_bw_utilization, program_text AS hlo_module_id,"               \
    " " SOURCE_CELL " AS source_info, " SOURCE_INFO " AS source, 100.0 * self_ns /"                \
    " nullif(all_ns, 0) AS percent, 100 * " BEST_USE " AS efficiency, 100 * compute_use AS"        \
    " compute, 100 * max_mem_bw_utilization AS memory, * EXCLUDE (step, rank, category, name,"           \
    " occurrences, total_ns, timed_ns, self_ns, program_text) FROM rated"                                      \
    " ORDER BY include_infeed_outfeed DESC, step <> 'Total', step <> 'Average', try_cast(step AS"  \
    " BIGINT), rank"

/* As XProf's numbers: six digits. */
#define SIX(value) "printf('%.6g', coalesce((" value ")::DOUBLE, 0))"
static const char properties[] =
    "SELECT coalesce(type, '') AS device_type, " SIX("peak_flops / 1e9") " AS peak_flop_rate,"
    " " SIX("hbm_peak / 1073741824") " AS peak_hbm_bw,"
    " " SIX("peak_flops / nullif(hbm_peak, 0)") " AS hbm_ridge_point,"
    " " SIX("coalesce(vmem_write_peak, sram_peak) / 1073741824") " AS peak_vmem_write_bw,"
    " " SIX("peak_flops / nullif(coalesce(vmem_write_peak, sram_peak), 0)")
    " AS vmem_write_ridge_point,"
    " " SIX("vmem_read_peak / 1073741824") " AS peak_vmem_read_bw,"
    " " SIX("peak_flops / nullif(vmem_read_peak, 0)") " AS vmem_read_ridge_point,"
    " " SIX("cmem_read_peak / 1073741824") " AS peak_cmem_read_bw,"
    " " SIX("peak_flops / nullif(cmem_read_peak, 0)") " AS cmem_read_ridge_point,"
    " " SIX("cmem_write_peak / 1073741824") " AS peak_cmem_write_bw,"
    " " SIX("peak_flops / nullif(cmem_write_peak, 0)") " AS cmem_write_ridge_point,"
    " CASE WHEN cmem_read_peak > 0 OR cmem_write_peak > 0 THEN '1' ELSE '0' END AS has_cmem,"
    " CASE WHEN vmem_read_peak > 0 THEN '1' ELSE '0' END AS has_merged_vmem,"
    " '0' AS megacore, '1' AS time_scale_multiplier, " SIX("xprof_peak_flops / 1e9")
    " AS xprof_peak_flop_rate FROM machine";

static const struct tool_table tables[] = {
    {.name = "device",
     .title = "Device",
     .forms = FOR_USERS,
     COLUMNS_OF(device_columns),
     .sql = "SELECT coalesce(model, type) AS name, devices, peak_flops / 1e12 AS tflops, peak_type,"
            " hbm_peak / 1e9 AS hbm_gb_per_s, cmem_read_peak / 1e9 AS cmem_read_gb_per_s,"
            " cmem_write_peak / 1e9 AS cmem_write_gb_per_s, vmem_read_peak / 1e9 AS"
            " vmem_read_gb_per_s, vmem_write_peak / 1e9 AS vmem_write_gb_per_s, peak_flops / nullif(hbm_peak, 0) AS ridge,"
            " xprof_peak_flops / 1e12 AS xprof_tflops FROM machine WHERE devices > 0"},
    {.name = "operations",
     .title = "The whole, and its operations by self time",
     .forms = FOR_PEOPLE,
     COLUMNS_OF(short_columns),
     .sql = "SELECT * FROM (" ROOFLINE ") WHERE include_infeed_outfeed AND step ="
            " 'Total' ORDER BY rank"},
    {.name = "roofline",
     .title = "Operations",
     .forms = FOR_PROGRAMS,
     COLUMNS_OF(columns),
     .sql = ROOFLINE,
     .properties = properties},
    {.name = "diagnostics", .title = "Diagnostics", .forms = FOR_XPROF, DIAGNOSTICS},
};

const struct xprof_tool roofline_model = {
    .name = "roofline_model",
    .about = "how near programs and operations come to the limits of their device",
    .why = NO_OPERATIONS,
    TABLES_OF(tables),
    .is_list = true,
};
