-- All allocations that are alive at the peak, not only those of the peak's step, as in XProf.
WITH {peak_memory},
alive AS (
    SELECT DISTINCT ON (m.memory_id, m.address) m.*, p.used
    FROM memory m
    JOIN peak p ON p.memory_id = m.memory_id AND m.position <= p.position
    ORDER BY m.memory_id, m.address, m.position DESC
),
shown AS (
    SELECT memory_id, used, count(*) AS occurrences, allocated, requested, {type_name} AS type, shape, region,
        tf_op
    FROM alive
    WHERE is_allocation
    GROUP BY ALL
),
known AS (SELECT memory_id, sum(occurrences * allocated) AS bytes FROM shown GROUP BY memory_id)
SELECT memory_id, occurrences, allocated AS allocation_bytes, requested AS requested_bytes,
    occurrences * allocated AS total_bytes,
    100.0 * occurrences * allocated / nullif(used, 0) AS percent_of_peak,
    nullif(type, 'INVALID') AS data_type, nullif(shape, '') AS shape, nullif(region, '') AS region,
    nullif(tf_op, '') AS op_name
FROM shown
UNION ALL
SELECT p.memory_id, NULL, NULL, NULL, p.heap - coalesce(k.bytes, 0),
    100.0 * (p.heap - coalesce(k.bytes, 0)) / nullif(p.used, 0), NULL, NULL, NULL,
    'allocated before the capture'
FROM peak p
LEFT JOIN known k USING (memory_id)
WHERE p.heap > coalesce(k.bytes, 0)
UNION ALL
SELECT memory_id, NULL, NULL, NULL, stack, 100.0 * stack / nullif(used, 0), NULL, NULL, NULL, 'stack'
FROM peak
WHERE stack > 0
ORDER BY memory_id, total_bytes DESC, allocation_bytes DESC NULLS FIRST, requested_bytes, op_name, shape
