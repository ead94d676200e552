-- Excess over the median of the program of machines with several lanes, in blocks of steps.
WITH machine AS (SELECT instance FROM Lane GROUP BY instance HAVING count(*) > 1)
SELECT l.instance, '', kept.block, count(*), avg(s.excess_ns)
FROM LaneStep s
JOIN kept ON kept.step = s.step
JOIN Lane l ON l.rank = s.rank AND l.device_idx = s.device_idx
JOIN machine ON machine.instance = l.instance
GROUP BY ALL
