-- What is around one event: events directly inside it on its track, the kernels of an operation or the operations of a
-- module, and the operation and module of a kernel.
WITH placed AS (
    SELECT 'SystemProfileEvents' AS tbl, e.id, e.track_id, NULL::BIGINT AS stream, '' AS kind,
        start_ts::HUGEINT * 1000 + start_fraction_ps AS start_ps,
        start_ts::HUGEINT * 1000 + start_fraction_ps + duration_ns::HUGEINT * 1000 + duration_fraction_ps AS end_ps
    FROM SystemProfileEvents e
    LEFT JOIN EventType y ON y.id = e.event_type_id
    WHERE occurrence_count IS NULL AND NOT (y.role IS NOT DISTINCT FROM 'flow' AND duration_ns = 0)
    UNION ALL
    SELECT 'HloRun', id, track_id, stream_track_id, kind, start_ts::HUGEINT * 1000, end_ts::HUGEINT * 1000
    FROM HloRun
), own AS (
    SELECT *, start_ps // 1000 AS start_ns, end_ps // 1000 AS end_ns
    FROM placed
    WHERE tbl = $tbl AND id = $id
), later AS (
    -- On its track while it lasts; of those with the same start the longer, then the first, is outside.
    SELECT p.id, p.start_ps, p.end_ps, p.end_ps <= own.end_ps AS is_inside
    FROM placed p
    JOIN own ON p.tbl = own.tbl AND p.track_id = own.track_id AND p.id <> own.id
        AND p.start_ps < greatest(own.end_ps, own.start_ps + 1)
        AND (p.start_ps, -p.end_ps, p.id) > (own.start_ps, -own.end_ps, own.id)
    JOIN Track k ON k.id = p.track_id AND k.role <> 'stream' AND p.tbl <> 'HloRun'
)
SELECT
    (SELECT count(*)
     FROM later
     WHERE is_inside AND NOT EXISTS (
         FROM later o
         WHERE o.id <> later.id AND o.end_ps >= later.end_ps AND o.end_ps > later.start_ps
             AND (o.start_ps, -o.end_ps, o.id) < (later.start_ps, -later.end_ps, later.id))) AS child_count,
    (SELECT count(*)
     FROM placed p
     JOIN own ON own.stream IS NOT NULL AND p.start_ps // 1000 >= own.start_ns AND p.end_ps // 1000 <= own.end_ns
         AND CASE own.kind WHEN 'module' THEN p.stream = own.stream AND p.kind = 'operation'
             ELSE p.tbl <> 'HloRun' AND p.track_id = own.stream END) AS part_count,
    (SELECT count(*)
     FROM placed p
     JOIN own ON own.kind <> 'module' AND p.stream = coalesce(own.stream, own.track_id) AND p.start_ps // 1000 <= own.start_ns
         AND p.end_ps // 1000 >= own.end_ns AND (own.tbl <> 'HloRun' OR p.kind = 'module')) AS part_of_count
