-- Work with the end of all work before it on its device.
SELECT *,
    max(end_ts) OVER (PARTITION BY instance_id, device_idx ORDER BY start_ts, id ROWS BETWEEN UNBOUNDED
        PRECEDING AND 1 PRECEDING) AS from_ts
FROM work
