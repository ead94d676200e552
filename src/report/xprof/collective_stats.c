/*
 * collective_stats: collectives of NCCL and RCCL by operation, communicator and size: how often,
 * how long, at what bandwidth. XProf has no such tool.
 */
#include "report/xprof/tool.h"

/* SQL has its own lines. */
/* clang-format off */

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

/* What a bus carries of a size, as nccl-tests count it. */
#define BUS                                                                                        \
    "CASE WHEN operation = 'allreduce' THEN 2.0 * (ranks - 1) / ranks"                             \
    " WHEN operation IN ('allgather', 'reducescatter', 'alltoall') THEN 1.0 * (ranks - 1) / ranks" \
    " ELSE 1.0 END"

static const struct tool_table tables[] = {
    {.name = "collectives",
     .title = "Collectives, by time",
     .forms = FOR_ALL,
     COLUMNS_OF(columns),
     .sql = "WITH grouped AS (SELECT operation, communicator, ranks, data_type, size_bytes,"
            " count(*) AS occurrences, sum(duration_ns) AS total_ns, min(duration_ns) AS least_ns,"
            " max(duration_ns) AS most_ns, min(id) AS first_event_id, arg_min(name, id) AS kernel"
            " FROM exchange GROUP BY ALL)"
            " SELECT *, row_number() OVER (ORDER BY total_ns DESC, operation, communicator,"
            " size_bytes) AS rank, 100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS time_percent,"
            " total_ns / 1e3 AS total_us, total_ns / 1e3 / occurrences AS avg_us,"
            " least_ns / 1e3 AS min_us, most_ns / 1e3 AS max_us,"
            " 1.0 * size_bytes * occurrences / nullif(total_ns, 0) AS algorithm_gb_per_s,"
            " algorithm_gb_per_s * " BUS " AS bus_gb_per_s,"
            " 1.0 * size_bytes / nullif(least_ns, 0) * " BUS " AS best_bus_gb_per_s"
            " FROM grouped ORDER BY rank"},
};

/* clang-format on */

const struct xprof_tool collective_stats = {
    .name = "collective_stats",
    .about = "collectives of NCCL and RCCL by operation, communicator and size: time, bandwidth",
    .why = "the capture has no collectives of a GPU: it is one of a single GPU, or without kernels",
    TABLES_OF(tables),
};
