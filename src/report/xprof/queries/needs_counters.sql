-- What perf_counters needs: counters of a device, or samples among the events of lanes of no known kind, which
-- are few.
SELECT 1
FROM device_lane
JOIN Track USING (id)
WHERE role = 'counter' AND event_count > 0
UNION ALL
SELECT 1
FROM SystemProfileEvents
WHERE track_id IN (SELECT id FROM device_lane JOIN Track USING (id) WHERE role = 'plain') AND
    contains(extra_attributes_json, '"counter_value"')
