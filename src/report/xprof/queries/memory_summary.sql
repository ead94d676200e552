-- Peak, capacity and counts of each allocator.
WITH {peak_memory}
SELECT memory_id, any_value(p.used) AS peak_bytes, any_value(p.time_ps) / 1e9 AS peak_time_ms,
    max(m.lifetime_peak) AS lifetime_peak_bytes, any_value(p.used + p.free) AS capacity_bytes,
    any_value(p.heap) AS heap_bytes, any_value(CASE WHEN p.reserved IS NULL THEN p.stack END) AS stack_bytes,
    any_value(p.reserved) AS reserved_bytes, any_value(p.free) AS free_bytes,
    any_value(CASE
        WHEN isnan(p.fragmentation) THEN NULL
        ELSE 100 * p.fragmentation
    END) AS fragmentation_percent,
    count(*) FILTER (m.is_allocation) AS allocations, count(*) FILTER (NOT m.is_allocation) AS frees
FROM memory m
JOIN peak p USING (memory_id)
GROUP BY memory_id
ORDER BY peak_bytes DESC, memory_id
