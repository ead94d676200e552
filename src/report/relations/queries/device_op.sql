-- Operations that devices other than GPUs recorded, as lanes of operations or engines.
SELECT y.name, y.layer, y.shape, y.is_collective, e.step, e.duration_ns, e.self_ns
FROM {with_steps table=SystemProfileEvents} e
JOIN Track t ON t.id = e.track_id
JOIN device_type y ON y.id = e.event_type_id
WHERE e.trace_event_source LIKE '%hw' AND (t.role = 'ops' OR t.role = 'stream' AND e.trace_event_source <>
    'gpu_hw') AND NOT EXISTS (SELECT 1 FROM Instruction)
