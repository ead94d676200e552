-- Lanes in steps: their measures, and when they begin.
SELECT l.rank, l.device_idx AS device, l.step, l.duration_ns, l.own_ns, l.expected_ns, l.excess_ns,
    l.start_ns - s.start_ns AS begin_ns, k.error_ns
FROM LaneStep AS l
JOIN Step AS s USING (step)
JOIN LaneClock AS c USING (rank, device_idx)
LEFT JOIN Clock AS k USING (instance)
