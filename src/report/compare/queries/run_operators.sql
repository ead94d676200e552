-- Operators of some ranks, scaled to all.
WITH total AS (SELECT step, count(*) AS lanes FROM LaneStep GROUP BY step),
part AS (
    SELECT step, count(*) AS lanes
    FROM LaneStep
    WHERE rank IN (SELECT rank FROM ranks.Step)
    GROUP BY step
),
step_window AS (
    SELECT rank, step_id AS window_step, min(start_ts) AS window_start,
        max(start_ts + duration_ns) AS window_end
    FROM ranks.StepBreakdown
    GROUP BY ALL
),
work AS (
    SELECT rank, operation_id, framework_op, framework_op_event_id, step_id, start_ts, duration_ns
    FROM ranks.GpuKernel
    UNION ALL
    SELECT rank, NULL, framework_op, framework_op_event_id, step_id, start_ts, duration_ns
    FROM ranks.GpuCopy
),
placed AS (
    SELECT w.*, coalesce(w.step_id, CASE WHEN start_ts < window_end THEN window_step END) AS placed_step
    FROM work w
    ASOF LEFT JOIN step_window s ON s.rank = w.rank AND w.start_ts >= s.window_start
),
hlo AS (SELECT rank, id, {hlo_columns} FROM ranks.HloOperation),
call AS (
    SELECT rank, id, {call_columns}
    FROM ranks.SystemProfileEvents
    WHERE (rank, id) IN (SELECT (rank, framework_op_event_id) FROM work)
),
named AS (
    SELECT coalesce(h.name, w.framework_op, '(no operator known)') AS name,
        coalesce(h.layer, c.layer, '') AS layer, coalesce(h.shape, c.shape, '') AS shape, s.number AS step,
        count(*) AS count, sum(w.duration_ns) AS amount
    FROM placed w
    JOIN ranks.Step s ON s.rank = w.rank AND s.id = w.placed_step
    LEFT JOIN hlo h ON h.rank = w.rank AND h.id = w.operation_id
    LEFT JOIN call c ON c.rank = w.rank AND c.id = w.framework_op_event_id
    GROUP BY ALL
)
SELECT name, layer, shape, step, count * total.lanes / part.lanes, amount * total.lanes / part.lanes, NULL,
    false
FROM named
JOIN total USING (step)
JOIN part USING (step)
