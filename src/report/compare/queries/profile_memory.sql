-- Peaks of memory of each allocator.
WITH allocation AS (
    SELECT *,
        coalesce(allocator_name, CASE WHEN device_idx < 0 THEN 'host' ELSE 'device ' || device_idx END,
            'memory') AS place
    FROM MemoryAllocation
)
SELECT 'peak in use' AS name, place AS layer, '' AS shape, NULL AS step, count(*) AS count,
    max(greatest(coalesce(peak_bytes_in_use, 0), coalesce(bytes_allocated, 0))) AS amount, NULL AS inclusive,
    false AS is_communication
FROM allocation
GROUP BY place
HAVING amount > 0
UNION ALL
SELECT 'peak reserved', place, '', NULL, count(*), max(bytes_reserved) AS amount, NULL, false
FROM allocation
GROUP BY place
HAVING amount > 0
