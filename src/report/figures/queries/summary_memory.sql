-- Memory of devices by allocator: the most that was in use.
SELECT coalesce(allocator_name, 'device ' || device_idx, 'unnamed allocator') AS allocator, max(bytes_allocated) AS peak_bytes
FROM MemoryAllocation
WHERE bytes_allocated IS NOT NULL
GROUP BY ALL
