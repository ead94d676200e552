-- Memory in use after each allocation and free.
SELECT memory_id, time_ps / 1e9 AS time_ms, heap AS heap_bytes,
    CASE WHEN reserved IS NULL THEN stack END AS stack_bytes, reserved AS reserved_bytes, free AS free_bytes,
    nullif(fragmentation, 'nan'::DOUBLE) AS fragmentation, step
FROM memory
ORDER BY memory_id, position
