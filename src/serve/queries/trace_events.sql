-- Events of the trace viewer in a window. Of those shorter than {RESOLUTION} ns, the longest of each lane in each such
-- time is enough for a picture; 0 keeps all. HloRun ({UID} = -1 - id) shares the numbers of SystemProfileEvents.
WITH shown AS (
    SELECT *
    FROM {TABLE}
    WHERE start_ts <= {END} AND end_ts >= {START} AND {ONLY}
        AND track_id IN (SELECT id FROM Track AS l WHERE {HOSTS})
),
kept AS (
    SELECT arg_max(id, duration_ns) AS id
    FROM shown
    WHERE duration_ns < {RESOLUTION}
    GROUP BY track_id, start_ts // {RESOLUTION}
)
SELECT e.track_id, l.parent_id, {UID} AS uid, e.name, e.start_ts, {START_PS} AS start_ps, e.duration_ns,
    {DURATION_PS} AS duration_ps, {ARGS} AS args
FROM shown AS e
JOIN Track AS l ON l.id = e.track_id
WHERE e.duration_ns >= {RESOLUTION} OR e.id IN (SELECT id FROM kept)
ORDER BY e.track_id, e.start_ts, e.duration_ns DESC, e.id
LIMIT {MOST}
