-- Kernels by name, launch configuration and operation. Sums are of whole nanoseconds, means are cut to them,
-- as XProf's are. XProf takes a kernel for one on tensor cores by parts of names, which do not cover cuBLAS's
-- kernels for Hopper and Triton's.
SELECT row_number() OVER (ORDER BY total DESC, name, grid, block, op_name, registers, shared) AS rank,
    100.0 * total / nullif(sum(total) OVER (), 0) AS time_percent, name AS kernel_name,
    registers AS registers_per_thread, shared AS shmem_bytes, block AS block_dim, grid AS grid_dim,
    occupancy AS occupancy_pct, is_eligible OR xprof_uses AS is_op_tensor_core_eligible,
    xprof_uses AS is_kernel_using_tensor_core, op_name, number AS occurrences,
    total / 1e3 AS total_duration_us, (total // number) / 1e3 AS avg_duration_us,
    least_ns / 1e3 AS min_duration_us, most_ns / 1e3 AS max_duration_us, uses_tensor_cores, family
FROM (
    SELECT name, grid_x || ',' || grid_y || ',' || grid_z AS grid,
        block_x || ',' || block_y || ',' || block_z AS block, coalesce(registers_per_thread, 0) AS registers,
        coalesce(shared_bytes, 0) AS shared, op_name,
    -- What XProf takes for a kernel on tensor cores: parts of names, which know nothing of cuBLAS's kernels
    -- for Hopper and of Triton.
    regexp_matches(name,
        '16816|c1688|conv1x1|conv2d_c1_k1|dgrad_1x1_stride_2x2|direct_group|first_layer_wgrad_kernel|h1688|h884|hmma|i16832|i8816|s884|s1688|xmma_gemm|xmma_implicit_gemm|xmma_sparse_conv|xmma_sparse_gemm|xmma_warp_specialized_implicit_gemm')
        OR (ends_with(name, '.kd') AND regexp_matches(name, 'Cijk_|mfma|gemm_fusion')) AS xprof_uses,
        regexp_matches(op_name,
            '(Conv2D|Conv2DBackpropFilter|Conv2DBackpropInput|Conv3D|DepthwiseConv2dNative(BackpropFilter|BackpropInput)?|/MatMul|FusedMatMul|/CudnnRNN|XlaDot|XlaDotV2|dot_general|conv_general_dilated)$|BatchMatMul|CudnnRNNV|CudnnRNNForward|CudnnRNNBackprop')
            AS is_eligible,
        max(occupancy) AS occupancy,
        CASE WHEN bool_or(uses_tensor_cores) THEN true WHEN count(uses_tensor_cores) = count(*) THEN false END
            AS uses_tensor_cores,
        any_value(family) AS family, sum(number) AS number,
        sum(total_ns) AS total, min(least_ns) AS least_ns, max(most_ns) AS most_ns
    FROM kernel_group
    GROUP BY ALL
)
ORDER BY rank
LIMIT 1000
