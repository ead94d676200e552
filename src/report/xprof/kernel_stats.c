/*
 * kernel_stats: kernels of GPUs by name, launch configuration and operation.
 */
#include "report/xprof/tool.h"

/* SQL has its own lines. */
/* clang-format off */

/* What XProf takes for a kernel on tensor cores: parts of names, which know nothing of cuBLAS's
 * kernels for Hopper and of Triton. */
#define XPROF_TENSOR                                                                               \
    "regexp_matches(name, '16816|c1688|conv1x1|conv2d_c1_k1|dgrad_1x1_stride_2x2|direct_group|"    \
    "first_layer_wgrad_kernel|h1688|h884|hmma|i16832|i8816|s884|s1688|xmma_gemm|"                  \
    "xmma_implicit_gemm|xmma_sparse_conv|xmma_sparse_gemm|xmma_warp_specialized_implicit_gemm')"   \
    " OR (ends_with(name, '.kd') AND regexp_matches(name, 'Cijk_|mfma|gemm_fusion'))"
#define XPROF_ELIGIBLE                                                                             \
    "regexp_matches(op_name, '(Conv2D|Conv2DBackpropFilter|Conv2DBackpropInput|Conv3D|"            \
    "DepthwiseConv2dNative(BackpropFilter|BackpropInput)?|/MatMul|FusedMatMul|/CudnnRNN|XlaDot|"   \
    "XlaDotV2|dot_general|conv_general_dilated)$|BatchMatMul|CudnnRNNV|CudnnRNNForward|"           \
    "CudnnRNNBackprop')"

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
    NUMBER("total_duration_us", "Total (us)", FOR_PEOPLE, 1),
    NUMBER("occurrences", "Count", FOR_PEOPLE, 0),
    NUMBER("avg_duration_us", "Avg (us)", FOR_PEOPLE, 1),
    NUMBER("min_duration_us", "Min (us)", FOR_PEOPLE, 1),
    NUMBER("max_duration_us", "Max (us)", FOR_PEOPLE, 1),
    NUMBER("occupancy_pct", "Occupancy (%)", FOR_PEOPLE, 0),
    FLAG("uses_tensor_cores", "Tensor cores", FOR_PEOPLE),
    STRING("kernel_name", "Kernel", FOR_PEOPLE),
    STRING("op_name", "Operation", FOR_PEOPLE),
};

/* Sums are of whole nanoseconds, means are cut to them, as XProf's are. */
static const struct tool_table kernel_tables[] = {
    {.name = "kernels",
     .title = "Kernels",
     .forms = FOR_ALL,
     COLUMNS_OF(kernel_columns),
     .sql =
         "SELECT row_number() OVER (ORDER BY total DESC, name, grid, block, op_name, registers,"
         " shared) AS rank,"
         " 100.0 * total / nullif(sum(total) OVER (), 0) AS time_percent, name AS kernel_name,"
         " registers AS registers_per_thread, shared AS shmem_bytes, block AS block_dim,"
         " grid AS grid_dim, occupancy AS occupancy_pct,"
         " is_eligible OR xprof_uses AS is_op_tensor_core_eligible,"
         " xprof_uses AS is_kernel_using_tensor_core, op_name, number AS occurrences,"
         " total / 1e3 AS total_duration_us, (total // number) / 1e3 AS avg_duration_us,"
         " least_ns / 1e3 AS min_duration_us, most_ns / 1e3 AS max_duration_us, uses_tensor_cores "
         "FROM (SELECT name, grid_x || ',' || grid_y || ',' || grid_z AS grid,"
         " block_x || ',' || block_y || ',' || block_z AS block,"
         " coalesce(registers_per_thread, 0) AS registers, coalesce(shared_bytes, 0) AS shared,"
         " op_name, " XPROF_TENSOR " AS xprof_uses, " XPROF_ELIGIBLE " AS is_eligible,"
         " max(occupancy) AS occupancy, bool_or(uses_tensor_cores) AS uses_tensor_cores,"
         " sum(number) AS number, sum(total_ns) AS total, min(least_ns) AS least_ns,"
         " max(most_ns) AS most_ns "
         "FROM kernel GROUP BY ALL) ORDER BY rank LIMIT 1000"},
};

const struct xprof_tool kernel_stats = {
    .name = "kernel_stats",
    .about = "kernels of GPUs: launch configuration, occupancy, tensor cores, times",
    .why = "the capture has no kernels of a GPU",
    TABLES_OF(kernel_tables),
};
