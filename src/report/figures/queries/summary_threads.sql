-- Threads of hosts: how much of the capture they had an event.
WITH {capture_span}
SELECT k.name, k.instance_id AS host, k.id AS track_id, k.event_count, k.busy_ns,
    k.busy_ns / (SELECT ns FROM capture_span) AS busy_share
FROM Track k
JOIN Track s ON s.id = k.parent_id
WHERE k.kind = 'lane' AND s.role = 'host' AND coalesce(k.role, '') <> 'counter' AND k.event_count > 0
