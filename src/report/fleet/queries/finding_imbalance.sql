-- Programs whose own times differ too much.
WITH programs AS (
    SELECT program, count(*) AS lanes, min(rank) AS first_rank, max(rank) AS last_rank,
        median(median_own_ns) AS own_ns
    FROM RankSummary
    WHERE program > 0
    GROUP BY program
)
SELECT max(own_ns) AS longest_ns, min(own_ns) AS shortest_ns, sum(own_ns * lanes) / sum(lanes) AS mean_ns,
    max_by(program, own_ns) AS program, max_by(first_rank, own_ns) AS first_rank,
    max_by(last_rank, own_ns) AS last_rank, max_by(lanes, own_ns) AS lanes, count(*) AS programs
FROM programs
HAVING count(*) > 1 AND max(own_ns) > {IMBALANCE_FACTOR} * min(own_ns)
