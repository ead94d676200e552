-- Each lane's own time in each step: the step without communication, in which it may wait for
-- others. In synchronous training all ranks have the same step time; own time shows which is slow.
-- A lane's excess is how much longer it takes than the median lane of its program. It is late if
-- that exceeds 5 robust standard deviations over lanes (normal noise does so once in 3 million) and
-- 2 %, which is more than equal devices differ by.
WITH own AS (
  SELECT l.rank, l.device_idx, l.program, s.step, s.duration_ns,
    s.duration_ns - s.exposed_communication_ns AS own_ns,
    l.base_ns + l.rate * s.start_ts AS start_ns,
    l.base_ns + l.rate * s.end_ts AS end_ns,
    s.compute_ns, s.copy_ns, s.idle_host_ns, s.idle_kernel_ns, s.idle_other_ns
  FROM RankStep AS s
  JOIN LaneClock AS l ON l.instance = s.instance AND l.rank = s.rank AND l.device_idx = s.device_idx
), expected AS (
  SELECT program, step, percentile_cont(0.5) WITHIN GROUP (ORDER BY own_ns) AS expected_ns
  FROM own
  WHERE program > 0
  GROUP BY program, step
  UNION ALL
  SELECT CAST(0 AS BIGINT) AS program, step, percentile_cont(0.5) WITHIN GROUP (ORDER BY own_ns) AS expected_ns
  FROM own
  WHERE EXISTS (SELECT 1 FROM LaneClock WHERE program = 0)
  GROUP BY step
), excesses AS (
  SELECT own.*, e.expected_ns, own.own_ns - e.expected_ns AS excess_ns
  FROM own
  JOIN expected AS e ON e.program = own.program AND e.step = own.step
), spreads AS (
  SELECT program, step,
    1.4826 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(excess_ns)) AS spread_ns
  FROM excesses
  GROUP BY program, step
)
SELECT x.*, s.spread_ns,
  x.excess_ns > greatest(5 * s.spread_ns, 0.02 * x.expected_ns) AS is_late
FROM excesses AS x
JOIN spreads AS s ON s.program = x.program AND s.step = x.step
