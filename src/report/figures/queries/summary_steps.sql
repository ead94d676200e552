-- Step times, durations of steps on the host and on devices, and their periods.
WITH {step_time},
timed AS (
    SELECT 'step_ns' AS time, ns
    FROM step_time
    UNION ALL
    SELECT 'host_ns', duration_ns
    FROM Step
    WHERE origin = 'annotated'
    UNION ALL
    SELECT 'device_ns', device_ns
    FROM Step
    WHERE device_event_count > 0
    UNION ALL
    SELECT 'period_ns', s.start_ts - lag(s.start_ts) OVER (PARTITION BY e.track_id ORDER BY s.id)
    FROM Step s
    JOIN SystemProfileEvents e ON e.id = s.event_id
)
SELECT time, count(*) AS count, avg(ns) AS mean, quantile_cont(ns, 0.5) AS p50, quantile_cont(ns, 0.99) AS p99,
    min(ns) AS min, max(ns) AS max
FROM timed
WHERE ns IS NOT NULL
GROUP BY time
