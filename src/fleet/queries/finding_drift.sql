-- Whether steps become longer: a line that explains 70 % of what the blocks differ, and makes 3 % over the
-- run.
SELECT change_ns, initial_ns, fit, blocks, min(first_step) AS first_step, max(last_step) AS last_step
FROM Drift
WHERE blocks >= 3 AND fit >= 0.7 AND abs(change_ns) >= 0.03 * initial_ns
GROUP BY change_ns, initial_ns, fit, blocks
