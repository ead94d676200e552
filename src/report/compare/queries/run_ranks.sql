-- Excess over the median of the program of each lane, in blocks of steps.
SELECT 'rank ' || s.rank || CASE WHEN l.device_count > 1 THEN ', device ' || s.device_idx ELSE '' END,
    l.instance, kept.block, count(*), avg(s.excess_ns)
FROM LaneStep s
JOIN kept ON kept.step = s.step
JOIN Lane l ON l.rank = s.rank AND l.device_idx = s.device_idx
GROUP BY ALL
