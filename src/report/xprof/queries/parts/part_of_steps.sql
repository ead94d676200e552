-- One part of steps: mean time and share.
SELECT '{name}' AS part, avg({part}_ns) / 1e6 AS mean_ms,
    100.0 * sum({part}_ns) / nullif(sum(step_ns), 0) AS percent
FROM step_part
HAVING count(*) > 0
