-- Operations of devices by name and program: those that the capture has, or those that kernels were found to belong to.
WITH recorded AS (
    SELECT o.name, coalesce(m.name, '') AS program, NULL::BIGINT AS module_id, sum(o.occurrence_count) AS count,
        sum(o.total_ns) AS total_ns, sum(o.self_ns) AS self_ns, min(o.min_ns) AS min_ns, max(o.max_ns) AS max_ns
    FROM DeviceOperation o
    JOIN Device d ON d.id = o.device_id
    LEFT JOIN HloModule m ON m.id = o.module_id
    WHERE d.track_id IN (SELECT parent_id FROM Track WHERE role = 'ops' AND event_table = 'SystemProfileEvents')
    GROUP BY ALL
),
derived AS (
    SELECT r.name, coalesce(m.name, '') AS program, r.module_id, count(*) AS count, sum(r.kernel_ns) AS total_ns,
        sum(r.kernel_ns) AS self_ns, min(r.kernel_ns) AS min_ns, max(r.kernel_ns) AS max_ns
    FROM HloRun r
    ASOF LEFT JOIN (SELECT name, stream_track_id, start_ts FROM HloRun WHERE kind = 'module') m ON
        m.stream_track_id = r.stream_track_id AND m.start_ts <= r.start_ts
    WHERE r.kind = 'operation'
    GROUP BY ALL
),
operation AS (
    SELECT *
    FROM recorded
    UNION ALL
    SELECT *
    FROM derived
)
SELECT *, self_ns / nullif(sum(self_ns) OVER (), 0) AS share
FROM operation
