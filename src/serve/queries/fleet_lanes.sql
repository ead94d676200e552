-- Lanes of a run, in an order that was asked for.
SELECT rank, device_idx AS device, instance AS machine, median_excess_ns, late_steps, cluster
FROM ({ordered_lane})
ORDER BY by_{ORDER}
