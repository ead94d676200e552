-- One step of a run.
SELECT step, ranks, start_ns, end_ns, median_ns, min_ns, max_ns, own_ns, slowest_rank, slowest_device,
    slowest_excess_ns, late_lanes, usual_ns, is_outlier,
    EXISTS (SELECT 1 FROM MatchedStep AS m WHERE m.step = Step.step) AS is_matched
FROM Step
WHERE step = {STEP}
