-- Steps: how long each takes, its time on the host and on devices, and when something of it runs.
WITH {step_time}
SELECT s.id, s.number, least(s.start_ts, s.device_start_ts) AS from_ts, greatest(s.end_ts, s.device_end_ts) AS to_ts,
    t.ns AS step_ns, CASE WHEN s.origin = 'annotated' THEN s.duration_ns END AS host_ns, s.device_ns
FROM Step s
LEFT JOIN step_time t ON t.step_id = s.id
