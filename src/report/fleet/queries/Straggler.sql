-- Stragglers with the work that makes them late and the kernel that differs most. In one kernel:
-- it alone has 60 % of the difference and takes 1.5 times as much of it as of the usual time.
WITH kernels AS (
  SELECT rank, device_idx, class, max_by(kernel, difference_ns) AS kernel,
    max(difference_ns) AS kernel_excess_ns, max_by(usual_ns, difference_ns) AS kernel_usual_ns,
    sum(difference_ns) AS difference_ns, sum(usual_ns) AS usual_ns
  FROM KernelDifference
  GROUP BY rank, device_idx, class
), largest AS (
  SELECT w.*, greatest(compute_ns, copy_ns, idle_host_ns, idle_kernel_ns, idle_other_ns) AS largest_ns
  FROM StragglerWork AS w
), causes AS (
  SELECT l.*, w.largest_ns AS cause_ns,
    CASE
      WHEN w.rank IS NULL OR w.largest_ns < 0.3 * l.excess_ns THEN 'unknown'
      WHEN w.compute_ns = w.largest_ns THEN 'compute'
      WHEN w.copy_ns = w.largest_ns THEN 'copy'
      WHEN w.idle_host_ns = w.largest_ns AND w.compile_ns > 0.5 * w.largest_ns THEN 'compile'
      WHEN w.idle_host_ns = w.largest_ns AND w.input_wait_ns > 0.5 * w.largest_ns THEN 'input'
      WHEN w.idle_host_ns = w.largest_ns THEN 'host'
      WHEN w.idle_kernel_ns = w.largest_ns THEN 'gaps'
      ELSE 'other streams'
    END AS cause
  FROM LateLane AS l
  LEFT JOIN largest AS w ON w.rank = l.rank AND w.device_idx = l.device_idx
)
SELECT c.rank, c.device_idx, r.instance, c.program, c.kind, c.first_step, c.last_late_step, c.steps,
  c.late_steps, c.late_share, c.share_since, c.excess_ns, c.expected_ns, c.mean_excess_ns, c.cause, c.cause_ns,
  k.kernel, k.kernel_excess_ns, k.kernel_usual_ns,
  coalesce(c.cause = 'compute' AND k.kernel_excess_ns > 0.6 * k.difference_ns
    AND k.kernel_excess_ns * k.usual_ns > 1.5 * k.kernel_usual_ns * k.difference_ns, false) AS is_one_kernel,
  r.came_last_count, r.matched_collectives, r.held_up_ns, r.matched_steps
FROM causes AS c
JOIN RankSummary AS r ON r.rank = c.rank AND r.device_idx = c.device_idx
LEFT JOIN kernels AS k ON k.rank = c.rank AND k.device_idx = c.device_idx AND k.class = c.cause
