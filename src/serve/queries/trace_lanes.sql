-- Lanes of the trace viewer with the processes they are part of, devices first, and where they begin and end.
SELECT p.id AS pid, concat_ws(' ', l.instance_id, nullif(p.name, '')) AS process, l.id AS tid, l.name AS thread,
    l.event_count, l.first_ts, l.last_ts
FROM Track AS l
JOIN Track AS p ON p.id = l.parent_id
WHERE l.event_count > 0 AND l.event_table IN ('SystemProfileEvents', 'HloRun') AND {HOSTS}
ORDER BY coalesce(p.role, '') <> 'device', p.id, l.event_table DESC, l.sort_key, l.id
