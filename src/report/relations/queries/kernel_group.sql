-- Kernels of one name, launch configuration and operation. The framework's operation is that of the HLO
-- operation, else what the source wrote as "name:type".
SELECT k.* EXCLUDE (operation_id, framework_op),
    coalesce(o.op_name, regexp_replace(k.framework_op, '(^|[^:]):[A-Za-z_0-9]*$', '\1'), '') AS op_name
FROM (
    SELECT name, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, shared_bytes,
        operation_id, framework_op,
        max(coalesce(theoretical_occupancy_percent, occupancy_percent)) AS occupancy,
        CASE WHEN bool_or(uses_tensor_cores) THEN true WHEN count(uses_tensor_cores) = count(*) THEN false END
            AS uses_tensor_cores,
        any_value(family) AS family, count(*) AS number, sum(duration_ns) AS total_ns,
        min(duration_ns) AS least_ns, max(duration_ns) AS most_ns
    FROM GpuKernel
    WHERE duration_ns >= 1 AND ((SELECT host FROM option) IS NULL OR id IN (
        SELECT id
        FROM SystemProfileEvents
        WHERE instance_id = (SELECT host FROM option)
    ))
    GROUP BY ALL
) k
LEFT JOIN HloOperation o ON o.id = k.operation_id
