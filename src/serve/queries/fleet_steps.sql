-- Steps of a run.
SELECT step, median_ns, is_outlier
FROM Step
ORDER BY step
