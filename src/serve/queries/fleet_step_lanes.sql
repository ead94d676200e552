-- The slowest lane of a step, a typical one of the same program, and those that were asked for ({WANTED}).
WITH lanes AS (SELECT * FROM LaneStep WHERE step = {STEP}),
slowest AS (
    SELECT slowest_rank AS rank, slowest_device AS device_idx,
        (SELECT max(program) FROM lanes WHERE rank = slowest_rank AND device_idx = slowest_device) AS program
    FROM Step
    WHERE step = {STEP}
),
median AS (
    SELECT l.rank, l.device_idx
    FROM lanes AS l, slowest AS s
    WHERE l.rank <> s.rank OR l.device_idx <> s.device_idx
    ORDER BY l.program <> s.program, abs(l.excess_ns), l.rank, l.device_idx
    LIMIT 1
),
wanted AS (
    SELECT rank, device_idx, 'slowest' AS role
    FROM slowest
    UNION ALL
    SELECT rank, device_idx, 'median'
    FROM median {WANTED}
)
SELECT l.rank, l.device_idx AS device, c.instance AS machine, max(w.role) AS role, l.duration_ns, l.own_ns,
    l.excess_ns, l.is_late, CAST(round((l.start_ns - c.base_ns) / c.rate) AS BIGINT) AS start_ts,
    CAST(round((l.end_ns - c.base_ns) / c.rate) AS BIGINT) AS end_ts, l.start_ns, l.end_ns, c.base_ns, c.rate,
    k.offset_ns, k.drift_ppm, k.error_ns, k.component
FROM lanes AS l
JOIN wanted AS w USING (rank, device_idx)
JOIN LaneClock AS c USING (rank, device_idx)
LEFT JOIN Clock AS k USING (instance)
GROUP BY ALL
ORDER BY l.rank, l.device_idx
