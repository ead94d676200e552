-- Lanes in the steps that are replayed, with what their own time is made of.
SELECT x.step, x.rank, x.device_idx, x.program, x.start_ns, x.end_ns, x.own_ns, x.expected_ns,
  x.compute_ns, x.copy_ns, x.idle_host_ns, x.idle_kernel_ns, x.idle_other_ns, l.instance
FROM LaneStep AS x
JOIN LaneClock AS l ON l.rank = x.rank AND l.device_idx = x.device_idx
JOIN (SELECT DISTINCT step FROM ReplayStep) AS r ON r.step = x.step
