-- Steps and their parts, as means over devices, of one kind as in the relation step_part. Of a device profile (NTFF) each execution is a step.
SELECT s.id, any_value(s.number) AS number, min(coalesce(b.start_ts, s.start_ts)) AS start,
    greatest(count(b.step_id), 1) AS devices, avg(coalesce(b.duration_ns, s.duration_ns)) AS "step time",
    avg(compute_16_ns) AS "computation in 16 bits", avg(compute_32_ns) AS "computation in 32 bits",
    avg(compute_other_ns) AS "other computation", avg(collectives_ns) AS "exposed collectives",
    avg(device_to_device_ns) AS "copies on and between devices", avg(device_to_host_ns) AS "copies to the host",
    avg(host_to_device_ns) AS "copies from the host", avg(input_wait_ns) AS "input wait",
    avg(host_compute_ns) AS "host computation", avg(kernel_launch_ns) AS "kernel launch",
    avg(compile_ns) AS "compilation", avg(other_ns) AS "other", avg(b.idle_ns) AS "device idle"
FROM Step s
LEFT JOIN StepBreakdown b ON b.step_id = s.id AND (b.device_id IS NULL OR b.device_id IN (SELECT id FROM Device QUALIFY {of_one_kind}))
GROUP BY s.id
UNION ALL
SELECT execution_index, execution_index, min(execution_start_ts), count(*),
    avg(execution_end_ts - execution_start_ts), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL
FROM ExecutionInfo
WHERE NOT EXISTS (SELECT 1 FROM Step)
GROUP BY execution_index
ORDER BY start, 1
