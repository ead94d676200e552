-- When a device has work.
SELECT instance_id, device_idx, min(start_ts) AS from_ts, max(end_ts) AS to_ts
FROM (
    SELECT *,
        sum(CASE WHEN start_ts <= from_ts THEN 0 ELSE 1 END) OVER (PARTITION BY instance_id, device_idx ORDER
            BY start_ts, id ROWS UNBOUNDED PRECEDING) AS island
    FROM gap_before
)
GROUP BY instance_id, device_idx, island
