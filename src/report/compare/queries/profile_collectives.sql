-- Collectives: on the device where that is known, otherwise as the host called them.
WITH known AS (
    SELECT c.*, e.step, e.trace_event_source LIKE '%hw' AS is_on_device
    FROM Collective c
    JOIN {with_steps table=SystemProfileEvents} e ON e.id = c.id
)
SELECT operation, coalesce(group_description, group_name, '') || coalesce(' of ' || group_size, '') AS layer,
    coalesce(data_type, '') || coalesce('[' || greatest(input_elements, output_elements) || ']', '') AS shape,
    step, count(*) AS count, sum(duration_ns) AS amount, NULL AS inclusive, true AS is_communication
FROM known
WHERE is_on_device OR NOT EXISTS (SELECT 1 FROM known WHERE is_on_device)
GROUP BY ALL
UNION ALL
SELECT name, '', '', k.step, count(*), sum(duration_ns), NULL, true
FROM {with_steps table=GpuKernel} k
WHERE {communicates kernel=k} AND id NOT IN (SELECT id FROM known)
GROUP BY ALL
UNION ALL
SELECT name, layer, shape, step, count(*), sum(self_ns), sum(duration_ns), true
FROM device_op
WHERE is_collective
GROUP BY ALL
UNION ALL
SELECT operation, 'ranks ' || replica_group, dtype || '[' || num_elements || ']', execution_index, count(*),
    sum(duration_ns), NULL, true
FROM CcOp
GROUP BY ALL
