-- step_time: how long each step takes, the mean over the devices that have it; those of one kind count.
step_time AS (
    SELECT b.step_id, avg(b.duration_ns) AS ns
    FROM StepBreakdown b
    LEFT JOIN (SELECT id FROM Device QUALIFY {of_one_kind}) d ON d.id = b.device_id
    WHERE b.device_id IS NULL OR d.id IS NOT NULL
    GROUP BY b.step_id
)
