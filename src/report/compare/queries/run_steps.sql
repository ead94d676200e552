-- Steps that most lanes have, as captures may begin and end in different ones, with their parts.
WITH means AS (
    SELECT step, count(*) AS lanes, avg(duration_ns) AS duration_ns, avg(compute_ns) AS compute_ns,
        avg(exposed_communication_ns) AS exposed_ns, avg(copy_ns) AS copy_ns,
        avg(idle_host_ns) AS idle_host_ns, avg(idle_kernel_ns) AS idle_kernel_ns,
        avg(idle_other_ns) AS idle_other_ns, avg(communication_ns) AS communication_ns,
        avg(overlap_ns) AS overlap_ns, avg(idle_ns) AS idle_ns
    FROM ranks.RankStep
    GROUP BY step
)
SELECT m.step, s.start_ns, m.duration_ns, m.lanes, matched.step IS NOT NULL, compute_ns, exposed_ns, copy_ns,
    idle_host_ns, idle_kernel_ns, idle_other_ns, communication_ns, overlap_ns, idle_ns, s.own_ns, s.max_own_ns
FROM means m
JOIN Step s ON s.step = m.step
LEFT JOIN MatchedStep matched ON matched.step = m.step
WHERE 2 * m.lanes >= (SELECT max(lanes) FROM means)
ORDER BY m.step
