-- The longest steps.
SELECT step, median_ns, median_ns / nullif(usual_ns, 0) - 1 AS above_usual_share, slowest_rank, slowest_excess_ns,
    late_lanes, is_outlier
FROM Step
ORDER BY median_ns DESC, step
LIMIT 5
