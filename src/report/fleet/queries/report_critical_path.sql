-- Parts of the longest chains of work and transfers, by rank.
WITH parts AS (
    SELECT step, rank, kind, communicator, operation, end_ns - start_ns AS length_ns, compute_ns, copy_ns,
        host_ns, other_ns
    FROM CriticalPath
)
SELECT kind, CASE WHEN kind = 'transfer' THEN operation ELSE concat('rank ', rank) END AS of,
    sum(length_ns) / (SELECT count(DISTINCT step) FROM parts) AS per_step_ns,
    sum(length_ns) / (SELECT sum(length_ns) FROM parts) AS path_share,
    sum(compute_ns) / (SELECT count(DISTINCT step) FROM parts) AS compute_ns,
    sum(host_ns) / (SELECT count(DISTINCT step) FROM parts) AS host_ns,
    sum(copy_ns) / (SELECT count(DISTINCT step) FROM parts) AS copy_ns
FROM parts
GROUP BY 1, 2
ORDER BY per_step_ns DESC
LIMIT 10
