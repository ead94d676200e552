-- Lanes in the steps that are replayed, with what their own time is made of.
SELECT x.step, x.rank, x.device_idx, x.program, x.start_ns, x.end_ns, x.own_ns, x.expected_ns,
  s.compute_ns, s.copy_ns, s.idle_host_ns, s.idle_kernel_ns, s.idle_other_ns
FROM LaneStep AS x
JOIN (SELECT DISTINCT step FROM ReplayStep) AS r ON r.step = x.step
JOIN RankStep AS s ON s.rank = x.rank AND s.device_idx = x.device_idx AND s.step = x.step
