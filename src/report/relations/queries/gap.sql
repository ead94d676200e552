-- When a device has no work, and why. A gap is due to the last wait of the thread that launched what follows,
-- if the wait lasted into the gap.
SELECT g.instance_id, g.device_idx, g.from_ts, g.start_ts AS to_ts, g.operation, g.id AS next_id,
    CASE
        WHEN c.id IS NULL THEN 'launch not recorded'
        WHEN c.end_ts <= g.from_ts THEN 'queued'
        WHEN b.end_ts > g.from_ts AND b.is_wait THEN 'synchronization'
        WHEN b.end_ts > g.from_ts THEN 'copy'
        ELSE 'nothing launched'
    END AS cause,
    CASE WHEN c.end_ts > g.from_ts AND b.end_ts > g.from_ts THEN b.name END AS waited_in
FROM gap_before g
LEFT JOIN api_call c ON c.id = g.launch_event_id
ASOF LEFT JOIN (SELECT * FROM api_call WHERE is_wait OR is_blocking_copy) b ON b.track_id = c.track_id AND
    b.start_ts < c.start_ts
WHERE g.start_ts > g.from_ts
