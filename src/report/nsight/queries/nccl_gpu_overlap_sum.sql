-- Of each GPU: when NCCL runs, alone or beside kernels that compute. Other collectives are neither.
SELECT instance_id AS "Host", device_idx AS "DevId", sum(part_ns) FILTER (nccl > 0) AS "NCCL Time (ns)",
    coalesce(sum(part_ns) FILTER (compute > 0), 0) AS "Compute Time (ns)",
    coalesce(sum(part_ns) FILTER (nccl > 0 AND compute > 0), 0) AS "Overlap Time (ns)",
    coalesce(sum(part_ns) FILTER (nccl > 0 AND compute = 0), 0) AS "Exposed NCCL Time (ns)",
    100.0 * coalesce(sum(part_ns) FILTER (nccl > 0 AND compute > 0), 0) / sum(part_ns) FILTER (nccl > 0) AS
        "NCCL Overlapped (%)"
FROM (
    SELECT instance_id, device_idx, lead(ts) OVER now - ts AS part_ns, sum(nccl_change) OVER now AS nccl,
        sum(compute_change) OVER now AS compute
    FROM (
        SELECT instance_id, device_idx, ts, sum(CASE WHEN is_nccl THEN change ELSE 0 END) AS nccl_change,
            sum(CASE WHEN is_collective THEN 0 ELSE change END) AS compute_change
        FROM edge
        WHERE category = 'CUDA_KERNEL'
        GROUP BY instance_id, device_idx, ts
    )
    WINDOW now AS (PARTITION BY instance_id, device_idx ORDER BY ts)
)
GROUP BY instance_id, device_idx
HAVING sum(part_ns) FILTER (nccl > 0) > 0
ORDER BY instance_id, device_idx
