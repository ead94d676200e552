-- Devices: how much of the capture they worked, and how long after its launch work begins.
WITH {capture_span},
lane AS (
    SELECT parent_id, role, event_count, busy_ns,
        CASE
            WHEN bool_or(role = 'ops') OVER device THEN 'ops'
            WHEN bool_or(role = 'stream') OVER device THEN 'stream'
            ELSE 'plain'
        END AS work_role
    FROM Track
    WHERE kind = 'lane' AND event_count > 0 AND role <> 'counter' AND event_table = 'SystemProfileEvents'
    WINDOW device AS (PARTITION BY parent_id)
),
device_work AS (
    SELECT parent_id, sum(event_count) FILTER (role <> 'aside') AS event_count,
        sum(busy_ns) FILTER (role = work_role) AS sum_ns
    FROM lane
    GROUP BY parent_id
),
launch AS (
    SELECT l.id, l.start_ts, min(w.start_ts) AS first_ts, arg_min(k.parent_id, (w.start_ts, k.parent_id)) AS track_id
    FROM Flow f
    JOIN SystemProfileEvents l ON l.id = f.in_id
    JOIN SystemProfileEvents w ON w.id = f.out_id
    JOIN Track k ON k.id = w.track_id
    WHERE f.dependency_type = 'launch' AND f.out_table = 'SystemProfileEvents'
    GROUP BY l.id, l.start_ts
),
delay AS (
    SELECT track_id, count(*) AS launches, avg(first_ts - start_ts) AS mean_ns,
        quantile_cont(first_ts - start_ts, 0.5) AS p50_ns, quantile_cont(first_ts - start_ts, 0.99) AS p99_ns,
        min(first_ts - start_ts) AS min_ns, max(first_ts - start_ts) AS max_ns
    FROM launch
    GROUP BY track_id
)
SELECT t.name, d.instance_id AS host, coalesce(w.event_count, 0) AS event_count, d.busy_ns, d.busy_ns / (SELECT ns FROM capture_span) AS busy_share,
    coalesce(w.sum_ns, 0) AS sum_ns, launches AS "launch_delay_ns.count", mean_ns AS "launch_delay_ns.mean", p50_ns AS "launch_delay_ns.p50",
    p99_ns AS "launch_delay_ns.p99", min_ns AS "launch_delay_ns.min", max_ns AS "launch_delay_ns.max"
FROM Device d
JOIN Track t ON t.id = d.track_id AND t.role = 'device'
LEFT JOIN device_work w ON w.parent_id = d.track_id
LEFT JOIN delay l ON l.track_id = d.track_id
