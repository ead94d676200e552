-- Copies of GPUs.
SELECT name, '' AS layer, '' AS shape, c.step, count(*) AS count, sum(duration_ns) AS amount,
    NULL AS inclusive, false AS is_communication
FROM {with_steps table=GpuCopy} c
GROUP BY ALL
