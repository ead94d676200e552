-- When events ran and how long they took, to the picosecond where that was recorded.
SELECT 'SystemProfileEvents' AS tbl, id, start_ts + start_fraction_ps / 1e3 AS start_ns,
    duration_ns + duration_fraction_ps / 1e3 AS duration_ns,
    start_ts + duration_ns + (start_fraction_ps + duration_fraction_ps) / 1e3 AS end_ns, self_ns
FROM SystemProfileEvents
UNION ALL
SELECT 'HloRun', id, start_ts, duration_ns, start_ts + duration_ns, duration_ns
FROM HloRun
