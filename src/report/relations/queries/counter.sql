-- Samples of counters that devices have, and events that carry a counter's value.
SELECT l.instance_id AS host, l.device, l.chip, l.name AS lane, l.number AS line, c.name AS counter, c.value,
    c.timestamp AS time_ns, '' AS description, '' AS set_name
FROM CounterSample c
JOIN device_lane l ON l.id = c.track_id
UNION ALL
SELECT l.instance_id, l.device, l.chip, l.name, l.number, e.name,
    json_extract(e.extra_attributes_json, '$.counter_value')::DOUBLE, e.start_ts,
    coalesce(json_extract_string(e.extra_attributes_json, '$.performance_counter_description'), ''),
    coalesce(json_extract_string(e.extra_attributes_json, '$.performance_counter_sets'), '')
FROM SystemProfileEvents e
JOIN device_lane l ON l.id = e.track_id
WHERE contains(e.extra_attributes_json, '"counter_value"')
