-- When events ran and how long they took, to the picosecond where that was recorded. Self time has fractions of
-- nanoseconds where nothing is inside the event.
SELECT 'SystemProfileEvents' AS tbl, id, start_ts + start_fraction_ps / 1e3 AS start_ns,
    duration_ns + duration_fraction_ps / 1e3 AS duration_ns,
    start_ts + duration_ns + (start_fraction_ps + duration_fraction_ps) / 1e3 AS end_ns,
    self_ns + if(self_ns = duration_ns, duration_fraction_ps, 0) / 1e3 AS self_ns
FROM SystemProfileEvents
UNION ALL
SELECT 'HloRun', id, start_ts, duration_ns, start_ts + duration_ns, duration_ns
FROM HloRun
