/*
 * perf_counters: hardware counters of devices: samples, and their range.
 */
#include "report/xprof/embedded_queries.h"
#include "report/xprof/tool.h"

static const struct tool_column range_columns[] = {
    STRING("host", "Host", FOR_USERS),       STRING("device", "Device", FOR_USERS),
    STRING("counter", "Counter", FOR_USERS), NUMBER("samples", "Samples", FOR_USERS, 0),
    NUMBER("mean", "Mean", FOR_USERS, 2),    NUMBER("least", "Min", FOR_USERS, 2),
    NUMBER("most", "Max", FOR_USERS, 2),
};
static const struct tool_column sample_columns[] = {
    STRING("Host", "Host", FOR_PROGRAMS),
    NUMBER("Chip", "Chip", FOR_PROGRAMS, 0),
    STRING("Kernel", "Kernel", FOR_PROGRAMS),
    NUMBER("Sample", "Sample", FOR_PROGRAMS, 0),
    STRING("Counter", "Counter", FOR_PROGRAMS),
    {"Value", "Value (Hex)", CELL_NUMBER, FOR_PROGRAMS, 0, true, NULL, NULL},
    STRING("Description", "Description", FOR_PROGRAMS),
    STRING("Set", "Set", FOR_PROGRAMS),
    NUMBER("time_ns", "Time (ns)", FOR_SCRIPTS, 0),
};

static const struct tool_table counter_tables[] = {
    {.name = "samples",
     .title = "Samples",
     .forms = FOR_PROGRAMS,
     COLUMNS_OF(sample_columns),
     .sql = xprof_sql_counter_samples},
    {.name = "counters",
     .title = "Hardware counters of devices",
     .forms = FOR_USERS,
     COLUMNS_OF(range_columns),
     .sql = xprof_sql_counters},
};

const struct xprof_tool perf_counters = {
    .name = "perf_counters",
    .about = "hardware counters of devices, also the PM samples of GPUs",
    .why = "the capture has no hardware counters of a device: kymo inspect "
           "--gpu-pm-sample-counters default records those of NVIDIA GPUs",
    .needs = xprof_sql_needs_counters,
    TABLES_OF(counter_tables),
};
