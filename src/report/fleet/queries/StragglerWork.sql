-- What stragglers do in their late steps, and what the ordinary lanes of their program do in these.
WITH work AS (
  SELECT s.rank, s.device_idx, s.step, c.program, c.is_straggler, s.compute_ns, s.copy_ns,
    s.idle_host_ns, s.idle_kernel_ns, s.idle_other_ns, s.input_wait_ns, s.compile_ns
  FROM RankStep AS s
  JOIN ComparedLane AS c ON c.rank = s.rank AND c.device_idx = s.device_idx
), late AS (
  SELECT x.rank, x.device_idx, x.step, x.program
  FROM LaneStep AS x
  JOIN LateLane AS l ON l.rank = x.rank AND l.device_idx = x.device_idx
  WHERE x.excess_ns > 0.5 * l.excess_ns
), usual AS (
  SELECT program, step, avg(compute_ns) AS compute_ns, avg(copy_ns) AS copy_ns,
    avg(idle_host_ns) AS idle_host_ns, avg(idle_kernel_ns) AS idle_kernel_ns,
    avg(idle_other_ns) AS idle_other_ns, avg(input_wait_ns) AS input_wait_ns,
    avg(compile_ns) AS compile_ns
  FROM work
  WHERE NOT is_straggler
  GROUP BY program, step
)
SELECT w.rank, w.device_idx, count(*) AS steps,
  avg(w.compute_ns - u.compute_ns) AS compute_ns, avg(w.copy_ns - u.copy_ns) AS copy_ns,
  avg(w.idle_host_ns - u.idle_host_ns) AS idle_host_ns,
  avg(w.idle_kernel_ns - u.idle_kernel_ns) AS idle_kernel_ns,
  avg(w.idle_other_ns - u.idle_other_ns) AS idle_other_ns,
  avg(w.input_wait_ns - u.input_wait_ns) AS input_wait_ns,
  avg(w.compile_ns - u.compile_ns) AS compile_ns,
  avg(u.compute_ns) AS usual_compute_ns
FROM work AS w
JOIN late ON late.rank = w.rank AND late.device_idx = w.device_idx AND late.step = w.step
JOIN usual AS u ON u.program = w.program AND u.step = w.step
WHERE w.is_straggler
GROUP BY w.rank, w.device_idx
