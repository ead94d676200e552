-- The capture as a whole: one row.
WITH {capture_span},
{step_time},
profiler AS (
    SELECT sum(greatest(end_ps - greatest(start_ps, before_ps), 0)) / 1e3 AS ns
    FROM (
        SELECT start_ps, end_ps,
            coalesce(max(end_ps) OVER (PARTITION BY track_id ORDER BY start_ps, end_ps DESC, id ROWS BETWEEN UNBOUNDED
                PRECEDING AND 1 PRECEDING), start_ps) AS before_ps
        FROM lane_event
        WHERE type_role = 'profiler'
    )
)
SELECT (SELECT count(*) FROM SystemProfileEvents) AS event_count, (SELECT ns FROM capture_span) AS span_ns,
    CASE WHEN NOT EXISTS (SELECT 1 FROM EventType WHERE role IS NULL) THEN coalesce((SELECT ns FROM profiler), 0) END AS
    profiler_ns, (SELECT count(*) FROM Step) AS "step_count",
    (SELECT quantile_cont(ns, 0.5) FROM step_time) AS step_ns,
    (SELECT count(*) FROM Device d JOIN Track t ON t.id = d.track_id AND t.role = 'device') AS device_count,
    (SELECT count(*) FROM Flow WHERE dependency_type = 'launch') AS "launch_count",
    (SELECT count(*) FROM Flow WHERE dependency_type = 'context') AS "context_count",
    (SELECT count(*) FROM HloModule) AS program_count
