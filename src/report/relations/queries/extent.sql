-- When a device has its first and last work, in 30 parts of the same width.
SELECT instance_id, device_idx, min(start_ts) AS first_ts, max(end_ts) - min(start_ts) AS whole_ns,
    greatest((max(end_ts) - min(start_ts) + 29) // 30, 1) AS width
FROM work
GROUP BY instance_id, device_idx
