/*
 * collective_stats: collectives by operation, communicator and size: how often, how long, at what
 * bandwidth. XProf has no such tool.
 */
#include "report/xprof/embedded_queries.h"
#include "report/xprof/tool.h"

static const struct tool_column columns[] = {
    NUMBER("rank", "Rank", FOR_PROGRAMS, 0),
    STRING("operation", "Operation", FOR_PROGRAMS),
    STRING("communicator", "Communicator", FOR_PROGRAMS),
    NUMBER("ranks", "Ranks", FOR_ALL, 0),
    STRING("data_type", "Type", FOR_ALL),
    NUMBER("size_bytes", "Size (B)", FOR_ALL, 0),
    NUMBER("occurrences", "Count", FOR_ALL, 0),
    NUMBER("time_percent", "Time (%)", FOR_ALL, 1),
    NUMBER("total_us", "Total (us)", FOR_ALL, 1),
    NUMBER("avg_us", "Avg (us)", FOR_ALL, 1),
    NUMBER("min_us", "Min (us)", FOR_ALL, 1),
    NUMBER("max_us", "Max (us)", FOR_ALL, 1),
    NUMBER("algorithm_gb_per_s", "Algorithm (GB/s)", FOR_ALL, 2),
    NUMBER("bus_gb_per_s", "Bus (GB/s)", FOR_ALL, 2),
    NUMBER("best_bus_gb_per_s", "Best bus (GB/s)", FOR_ALL, 2),
    NUMBER("first_event_id", "First event", FOR_SCRIPTS, 0),
    STRING("kernel", "Kernel", FOR_PROGRAMS),
    STRING("operation", "Operation", FOR_PEOPLE),
    STRING("communicator", "Communicator", FOR_PEOPLE),
};

static const struct tool_table tables[] = {
    {.name = "collectives",
     .title = "Collectives, by time",
     .forms = FOR_ALL,
     COLUMNS_OF(columns),
     .sql = xprof_sql_collectives},
};

const struct xprof_tool collective_stats = {
    .name = "collective_stats",
    .about = "collectives by operation, communicator and size: time, bandwidth",
    .why = "the capture has no collectives of a GPU: it is one of a single GPU, or without kernels",
    .needs = xprof_sql_needs_collectives,
    TABLES_OF(tables),
};
