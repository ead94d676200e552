-- Collectives that ranks do not end together, by the clocks of their machines.
SELECT count(*) AS collectives, (SELECT count(*) FROM CollectiveMatch WHERE ranks > 1) AS all_collectives,
    max(end_spread_ns) AS end_spread_ns, max_by(clock_error_ns, end_spread_ns) AS clock_error_ns,
    max_by(operation, end_spread_ns) AS operation, max_by(communicator, end_spread_ns) AS communicator,
    max_by(step, end_spread_ns) AS step
FROM CollectiveMatch
WHERE NOT ends_together
HAVING count(*) > 0
