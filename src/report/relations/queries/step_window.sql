-- When steps begin and end on devices.
SELECT step_id AS window_step, min(start_ts) AS window_start, max(start_ts + duration_ns) AS window_end
FROM StepBreakdown
GROUP BY step_id
