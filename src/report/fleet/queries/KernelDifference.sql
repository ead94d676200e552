-- Kernels of stragglers in their late steps, against the ordinary lanes of their program in these.
WITH late AS (
  SELECT x.rank, x.device_idx, x.step, x.program
  FROM LaneStep AS x
  JOIN LateLane AS l ON l.rank = x.rank AND l.device_idx = x.device_idx
  WHERE x.excess_ns > 0.5 * l.excess_ns
), lanes AS (
  SELECT program, count(*) AS lanes FROM ComparedLane WHERE NOT is_straggler GROUP BY program
), kernels AS (
  SELECT k.rank, k.device_idx, k.step, c.program, c.is_straggler,
    coalesce(k.name, '(others)') AS kernel, k.class, k.count AS runs, k.total_ns
  FROM RankKernel AS k
  JOIN ComparedLane AS c ON c.rank = k.rank AND c.device_idx = k.device_idx
  WHERE k.class <> 'communication'
), late_counts AS (
  SELECT rank, device_idx, count(*) AS steps FROM late GROUP BY rank, device_idx
), own AS (
  SELECT k.rank, k.device_idx, k.program, k.kernel, k.class, sum(k.total_ns) AS total_ns, sum(k.runs) AS runs
  FROM kernels AS k
  JOIN late ON late.rank = k.rank AND late.device_idx = k.device_idx AND late.step = k.step
  WHERE k.is_straggler
  GROUP BY k.rank, k.device_idx, k.program, k.kernel, k.class
), usual AS (
  SELECT late.rank, late.device_idx, k.kernel, k.class,
    sum(k.total_ns) / min(n.lanes) AS total_ns, sum(k.runs) / min(n.lanes) AS runs
  FROM kernels AS k
  JOIN late ON late.program = k.program AND late.step = k.step
  JOIN lanes AS n ON n.program = k.program
  WHERE NOT k.is_straggler
  GROUP BY late.rank, late.device_idx, k.kernel, k.class
)
SELECT o.rank, o.device_idx, o.kernel, o.class, c.steps,
  CAST(o.total_ns AS DOUBLE) / c.steps AS per_step_ns,
  coalesce(CAST(u.total_ns AS DOUBLE) / c.steps, 0) AS usual_ns,
  CAST(o.total_ns AS DOUBLE) / c.steps - coalesce(CAST(u.total_ns AS DOUBLE) / c.steps, 0) AS difference_ns,
  CAST(o.runs AS DOUBLE) / c.steps AS runs,
  coalesce(CAST(u.runs AS DOUBLE) / c.steps, 0) AS usual_runs
FROM own AS o
JOIN late_counts AS c ON c.rank = o.rank AND c.device_idx = o.device_idx
LEFT JOIN usual AS u ON u.rank = o.rank AND u.device_idx = o.device_idx AND u.kernel = o.kernel AND u.class = o.class
