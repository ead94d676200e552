-- Lanes of the steps that are replayed, with what their program usually computes.
WITH usual AS (SELECT step, program, median(compute_ns) AS usual_ns FROM ReplayLane GROUP BY step, program)
SELECT rank, device_idx, l.program, start_ns, end_ns, own_ns, expected_ns, compute_ns, copy_ns, idle_host_ns,
    idle_kernel_ns, idle_other_ns, usual_ns, l.step, l.instance
FROM ReplayLane AS l
JOIN usual AS u ON u.step = l.step AND u.program = l.program
ORDER BY l.step, rank, device_idx
