-- Each lane over all its steps. Waits are those of the matched steps (matched_steps of them).
WITH measures AS (
  SELECT instance, rank, device_idx, count(*) AS steps,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ns) AS median_duration_ns,
    avg(duration_ns) AS duration_ns, avg(compute_ns) AS compute_ns, avg(copy_ns) AS copy_ns,
    avg(communication_ns) AS communication_ns,
    avg(exposed_communication_ns) AS exposed_communication_ns, avg(overlap_ns) AS overlap_ns,
    avg(busy_ns) AS busy_ns, avg(idle_ns) AS idle_ns, avg(idle_host_ns) AS idle_host_ns,
    avg(idle_kernel_ns) AS idle_kernel_ns, avg(idle_other_ns) AS idle_other_ns,
    avg(input_wait_ns) AS input_wait_ns, avg(host_compute_ns) AS host_compute_ns,
    avg(kernel_launch_ns) AS kernel_launch_ns, avg(compile_ns) AS compile_ns,
    avg(kernel_count) AS kernel_count, avg(collective_count) AS collective_count
  FROM RankStep
  GROUP BY instance, rank, device_idx
), late AS (
  SELECT rank, device_idx, min(program) AS program, CAST(count_if(is_late) AS BIGINT) AS late_steps,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY own_ns) AS median_own_ns,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY excess_ns) AS median_excess_ns,
    CAST(sum(CASE WHEN is_late THEN excess_ns ELSE 0 END) AS DOUBLE) AS late_ns
  FROM LaneStep
  GROUP BY rank, device_idx
)
SELECT m.*, l.program, l.late_steps, l.median_own_ns, l.median_excess_ns, l.late_ns,
  coalesce(w.steps, 0) AS matched_steps, w.waited_ns,
  w.held_up_ns, coalesce(w.came_last_count, 0) AS came_last_count,
  coalesce(w.collectives, 0) AS matched_collectives
FROM measures AS m
JOIN late AS l ON l.rank = m.rank AND l.device_idx = m.device_idx
LEFT JOIN LaneWait AS w ON w.rank = m.rank AND w.device_idx = m.device_idx
