-- Findings, the costliest first.
SELECT rule, title, statement, advice, cost_ns, cost_share, rank_hours, rank, device_idx, communicator,
    evidence, sql, id
FROM RunFinding
ORDER BY id
