-- Kernels by family.
SELECT family AS name, '' AS layer, '' AS shape, k.step, count(*) AS count, sum(duration_ns) AS amount,
    NULL AS inclusive, family = 'communication' AS is_communication
FROM {with_steps table=GpuKernel} k
WHERE family IS NOT NULL
GROUP BY ALL
