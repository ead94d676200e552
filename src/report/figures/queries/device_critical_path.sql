-- What the critical path consists of, by rank: units that work, and waits.
SELECT rank, CASE WHEN wait IS NULL THEN unit ELSE '' END AS unit, wait, sum(duration_ns) AS time_ns,
    sum(duration_ns) / sum(sum(duration_ns)) OVER (PARTITION BY rank) AS share
FROM CriticalPath
GROUP BY rank, CASE WHEN wait IS NULL THEN unit ELSE '' END, wait
