/*
 * kernel_stats: kernels of GPUs by name, launch configuration and operation.
 */
#include "report/xprof/embedded_queries.h"
#include "report/xprof/tool.h"

static const struct tool_column kernel_columns[] = {
    NUMBER("rank", "Rank", FOR_PROGRAMS, 0),
    NUMBER("time_percent", "Time (%)", FOR_USERS, 1),
    STRING("kernel_name", "Kernel Name", FOR_PROGRAMS),
    NUMBER("registers_per_thread", "Registers per thread", FOR_PROGRAMS, 0),
    NUMBER("shmem_bytes", "Shared Mem bytes", FOR_PROGRAMS, 0),
    STRING("block_dim", "Block dim", FOR_PROGRAMS),
    STRING("grid_dim", "Grid dim", FOR_PROGRAMS),
    NUMBER("occupancy_pct", "Theoretical Occupancy %", FOR_PROGRAMS, 0),
    FLAG("is_op_tensor_core_eligible", "Op is TensorCore eligible", FOR_PROGRAMS),
    FLAG("is_kernel_using_tensor_core", "Kernel uses TensorCore", FOR_PROGRAMS),
    STRING("op_name", "Op Name", FOR_PROGRAMS),
    NUMBER("occurrences", "Occurrences", FOR_PROGRAMS, 0),
    NUMBER("total_duration_us", "Total Duration (μs)", FOR_PROGRAMS, 3),
    NUMBER("avg_duration_us", "Avg Duration (μs)", FOR_PROGRAMS, 3),
    NUMBER("min_duration_us", "Min Duration (μs)", FOR_PROGRAMS, 3),
    NUMBER("max_duration_us", "Max Duration (μs)", FOR_PROGRAMS, 3),
    FLAG("uses_tensor_cores", "Tensor cores", FOR_SCRIPTS),
    STRING("family", "Family", FOR_SCRIPTS),
    NUMBER("total_duration_us", "Total (us)", FOR_PEOPLE, 1),
    NUMBER("occurrences", "Count", FOR_PEOPLE, 0),
    NUMBER("avg_duration_us", "Avg (us)", FOR_PEOPLE, 1),
    NUMBER("min_duration_us", "Min (us)", FOR_PEOPLE, 1),
    NUMBER("max_duration_us", "Max (us)", FOR_PEOPLE, 1),
    NUMBER("occupancy_pct", "Occupancy (%)", FOR_PEOPLE, 0),
    FLAG("uses_tensor_cores", "Tensor cores", FOR_PEOPLE),
    STRING("family", "Family", FOR_PEOPLE),
    STRING("kernel_name", "Kernel", FOR_PEOPLE),
    STRING("op_name", "Operation", FOR_PEOPLE),
};

static const struct tool_table kernel_tables[] = {
    {.name = "kernels",
     .title = "Kernels",
     .forms = FOR_ALL,
     COLUMNS_OF(kernel_columns),
     .sql = xprof_sql_kernels},
};

const struct xprof_tool kernel_stats = {
    .name = "kernel_stats",
    .about = "kernels of GPUs: family, launch configuration, occupancy, tensor cores, times",
    .why = "the capture has no kernels of a GPU",
    .needs = "SELECT 1 FROM GpuKernel",
    TABLES_OF(kernel_tables),
};
