-- Whether steps become longer: a line that explains most of the
-- differences between blocks, and a change that matters.
SELECT change_ns, initial_ns, fit, blocks, min(first_step) AS first_step, max(last_step) AS last_step
FROM Drift
WHERE blocks >= {MIN_DRIFT_BLOCKS} AND fit >= {DRIFT_FIT_SHARE} AND abs(change_ns) >= {MIN_DRIFT_SHARE} * initial_ns
GROUP BY change_ns, initial_ns, fit, blocks
