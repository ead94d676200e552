-- What perf_counters needs: counters of a device, or lanes of no known kind, whose events may be samples.
SELECT 1
FROM device_lane
JOIN Track USING (id)
WHERE role IN ('counter', 'plain') AND event_count > 0
