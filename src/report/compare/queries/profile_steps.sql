-- Steps and their parts, as means over devices, of one kind as in the step_part relation. Of a device profile (NTFF) each execution is a step.
SELECT s.id, any_value(s.number) AS number, min(coalesce(b.start_ts, s.start_ts)) AS start,
    avg(coalesce(b.duration_ns, s.duration_ns)) AS duration, greatest(count(b.step_id), 1) AS devices,
    avg(compute_16_ns), avg(compute_32_ns), avg(compute_other_ns), avg(collectives_ns),
    avg(device_to_device_ns), avg(device_to_host_ns), avg(host_to_device_ns), avg(input_wait_ns),
    avg(host_compute_ns), avg(kernel_launch_ns), avg(compile_ns), avg(other_ns), avg(b.idle_ns)
FROM Step s
LEFT JOIN StepBreakdown b ON b.step_id = s.id AND (b.device_id IS NULL OR b.device_id IN (SELECT id FROM accelerator))
GROUP BY s.id
UNION ALL
SELECT execution_index, execution_index, min(execution_start_ts), avg(execution_end_ts - execution_start_ts),
    count(*), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM ExecutionInfo
WHERE NOT EXISTS (SELECT 1 FROM Step)
GROUP BY execution_index
ORDER BY start, 1
