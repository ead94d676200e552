/*
 * roofline_model: how near programs and operations come to what their device can do.
 */
#include "report/xprof/embedded_queries.h"
#include "report/xprof/tool.h"

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

static const struct tool_table tables[] = {
    {.name = "device",
     .title = "Device",
     .forms = FOR_USERS,
     COLUMNS_OF(device_columns),
     .sql = xprof_sql_roofline_device},
    {.name = "operations",
     .title = "The whole, and its operations by self time",
     .forms = FOR_PEOPLE,
     COLUMNS_OF(short_columns),
     .sql = xprof_sql_roofline_operations},
    {.name = "roofline",
     .title = "Operations",
     .forms = FOR_PROGRAMS,
     COLUMNS_OF(columns),
     .sql = xprof_sql_roofline,
     .properties = xprof_sql_roofline_properties},
    {.name = "diagnostics", .title = "Diagnostics", .forms = FOR_XPROF, DIAGNOSTICS},
};

const struct xprof_tool roofline_model = {
    .name = "roofline_model",
    .about = "how near programs and operations come to the limits of their device",
    .why = NO_OPERATIONS,
    .needs = NEEDS_OPERATIONS,
    TABLES_OF(tables),
    .is_list = true,
};
