-- lane_event: timed events of lanes with the roles of their lane and source, in ps; is_own: the profiler's own,
-- inside it, or the capture's extent; NULL of profiles of earlier versions, which do not say.
lane_event AS (
    SELECT *, CASE WHEN type_role IS NOT NULL THEN end_ps <= profiler_to OR type_role = 'capture' END AS is_own
    FROM (
        SELECT *,
            coalesce(max(CASE WHEN type_role = 'profiler' THEN end_ps END) OVER (PARTITION BY track_id ORDER BY start_ps,
                end_ps DESC, id ROWS UNBOUNDED PRECEDING), -9223372036854775807) AS profiler_to
        FROM (
            SELECT e.id, e.track_id, e.event_type_id, coalesce(t.display_name, t.name) AS label, t.role AS type_role,
                k.role AS lane_role, s.role AS source_role, e.self_ns, e.occurrence_count,
                1000 * e.start_ts + e.start_fraction_ps AS start_ps,
                1000 * e.duration_ns + e.duration_fraction_ps AS duration_ps,
                1000 * (e.start_ts + e.duration_ns) + e.start_fraction_ps + e.duration_fraction_ps AS end_ps
            FROM SystemProfileEvents e
            JOIN EventType t ON t.id = e.event_type_id
            JOIN Track k ON k.id = e.track_id
            JOIN Track s ON s.id = k.parent_id
        )
    )
)
