-- Calls and operators of the host, without frames of Python, of which tracing makes many, arrows and the
-- frames of steps. What XLA appends to a name, #key=value#, is of single calls.
SELECT CASE WHEN contains(e.name, '#') THEN regexp_replace(e.name, '#.*=.*#$', '') ELSE e.name END AS name,
    '' AS layer,
    CASE
        WHEN contains(extra_attributes_json, '"Input Dims"') THEN coalesce(json_extract(extra_attributes_json, '$."Input Dims"')::VARCHAR,
            '')
        ELSE ''
    END AS shape,
    e.step, sum(coalesce(occurrence_count, 1)) AS count, sum(self_ns) AS amount,
    sum(duration_ns) AS inclusive, false AS is_communication
FROM {with_steps table=SystemProfileEvents} e
JOIN Track t ON t.id = e.track_id
WHERE t.role = 'plain' AND trace_event_source NOT LIKE '%hw' AND trace_event_source <> 'other' AND
    event_type_id NOT IN (SELECT event_type_id FROM PythonFrame) AND event_type_id NOT IN (
        SELECT id
        FROM EventType
        WHERE json_extract_string(attributes_json, '$.cat') IN ('fwdbwd', 'ac2g')
    ) AND e.id NOT IN (SELECT event_id FROM Step) AND e.id NOT IN (SELECT id FROM MemoryAllocation)
GROUP BY ALL
