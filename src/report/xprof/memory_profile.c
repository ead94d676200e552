/*
 * memory_profile: what the framework's allocators hold over time, and what is alive at the peak.
 */
#include "report/xprof/embedded_queries.h"
#include "report/xprof/tool.h"

static const struct tool_column summary_columns[] = {
    STRING("memory_id", "Memory", FOR_USERS),
    NUMBER("peak_bytes", "Peak in use (B)", FOR_USERS, 0),
    NUMBER("peak_time_ms", "At (ms)", FOR_USERS, 3),
    NUMBER("reserved_bytes", "Reserved there (B)", FOR_USERS, 0),
    NUMBER("lifetime_peak_bytes", "Lifetime peak (B)", FOR_USERS, 0),
    NUMBER("capacity_bytes", "Capacity (B)", FOR_USERS, 0),
    NUMBER("heap_bytes", "Heap (B)", FOR_SCRIPTS, 0),
    NUMBER("stack_bytes", "Stack (B)", FOR_SCRIPTS, 0),
    NUMBER("free_bytes", "Free (B)", FOR_SCRIPTS, 0),
    NUMBER("fragmentation_percent", "Fragmentation (%)", FOR_USERS, 1),
    NUMBER("allocations", "Allocations", FOR_USERS, 0),
    NUMBER("frees", "Frees", FOR_USERS, 0),
};
static const struct tool_column alive_columns[] = {
    STRING("memory_id", "Memory", FOR_USERS),
    NUMBER("occurrences", "Count", FOR_USERS, 0),
    NUMBER("allocation_bytes", "Each (B)", FOR_USERS, 0),
    NUMBER("requested_bytes", "Requested (B)", FOR_USERS, 0),
    NUMBER("total_bytes", "Total (B)", FOR_USERS, 0),
    NUMBER("percent_of_peak", "Of peak (%)", FOR_USERS, 1),
    STRING("data_type", "Type", FOR_USERS),
    STRING("shape", "Shape", FOR_USERS),
    STRING("region", "Region", FOR_SCRIPTS),
    STRING("op_name", "Operation", FOR_USERS),
};
static const struct tool_column timeline_columns[] = {
    STRING("memory_id", "Memory", FOR_SCRIPTS),
    NUMBER("time_ms", "Time (ms)", FOR_SCRIPTS, 3),
    NUMBER("heap_bytes", "Heap (B)", FOR_SCRIPTS, 0),
    NUMBER("stack_bytes", "Stack (B)", FOR_SCRIPTS, 0),
    NUMBER("reserved_bytes", "Reserved (B)", FOR_SCRIPTS, 0),
    NUMBER("free_bytes", "Free (B)", FOR_SCRIPTS, 0),
    NUMBER("fragmentation", "Fragmentation", FOR_SCRIPTS, 3),
    NUMBER("step", "Step", FOR_SCRIPTS, 0),
};

static const struct tool_table memory_tables[] = {
    {.name = "summary",
     .title = "Memory of the framework's allocators",
     .forms = FOR_USERS,
     COLUMNS_OF(summary_columns),
     .sql = xprof_sql_memory_summary},

    {.name = "at_peak",
     .title = "Allocations at the peak",
     .forms = FOR_USERS,
     COLUMNS_OF(alive_columns),
     .sql = xprof_sql_memory_at_peak},

    {.name = "timeline",
     .title = "Timeline",
     .forms = FOR_SCRIPTS,
     COLUMNS_OF(timeline_columns),
     .sql = xprof_sql_memory_timeline},
};

const struct xprof_tool memory_profile = {
    .name = "memory_profile",
    .about = "memory of the framework's allocators over time, and what is alive at the peak",
    .why = "the capture has no allocations: JAX and TensorFlow record them when their host tracer "
           "has level 2, PyTorch with profile_memory=True",
    .needs = "SELECT 1 FROM MemoryAllocation",
    TABLES_OF(memory_tables),
    .document = xprof_sql_memory_document,
};
