-- capture_span, one row: from the first event to the end of the last, without the profiler's own. Calls that do nothing
-- but the profiler's own are its own as well.
{lane_event},
around AS (
    SELECT e.id
    FROM lane_event e
    JOIN lane_event p ON p.track_id = e.track_id AND p.type_role = 'profiler' AND p.start_ps >= e.start_ps AND
        p.start_ps < e.end_ps
    WHERE NOT e.is_own
    GROUP BY e.id
    HAVING sum(least(p.end_ps, e.end_ps) - p.start_ps) >= 0.9 * any_value(e.duration_ps)
),
capture_span AS (
    SELECT (max(end_ps) - min(start_ps)) / 1e3 AS ns
    FROM lane_event
    WHERE occurrence_count IS NULL AND NOT is_own AND id NOT IN (SELECT id FROM around)
)
