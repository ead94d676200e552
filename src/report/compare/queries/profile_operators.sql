-- Operators, by their time on devices.
WITH hlo AS (SELECT id, {hlo_columns} FROM HloOperation),
device_work AS (
    SELECT operation_id, framework_op, framework_op_event_id, k.step, duration_ns
    FROM {with_steps table=GpuKernel} k
    UNION ALL
    SELECT NULL, framework_op, framework_op_event_id, c.step, duration_ns
    FROM {with_steps table=GpuCopy} c
),
call AS (
    SELECT id, {call_columns}
    FROM SystemProfileEvents
    WHERE id IN (SELECT framework_op_event_id FROM device_work)
)
SELECT coalesce(h.name, w.framework_op, '(no operator known)') AS name,
    coalesce(h.layer, c.layer, '') AS layer, coalesce(h.shape, c.shape, '') AS shape, w.step,
    count(*) AS count, sum(w.duration_ns) AS amount, NULL AS inclusive, false AS is_communication
FROM device_work w
LEFT JOIN hlo h ON h.id = w.operation_id
LEFT JOIN call c ON c.id = w.framework_op_event_id
GROUP BY ALL
UNION ALL
SELECT name, layer, shape, step, count(*), sum(self_ns), sum(duration_ns), is_collective
FROM device_op
GROUP BY ALL
UNION ALL
SELECT coalesce(hlo_name, opcode), coalesce(layer, ''), '', execution_index, count(*), sum(duration_ns), NULL,
    false
FROM Instruction
GROUP BY ALL
