-- Slow ranks, the costliest first.
SELECT rank, device_idx AS device, instance AS machine, kind, first_step AS since_step, late_share, excess_ns,
    excess_ns / nullif(expected_ns, 0) AS excess_share, cause, kernel
FROM Straggler
ORDER BY mean_excess_ns DESC, rank, device_idx
LIMIT 32
