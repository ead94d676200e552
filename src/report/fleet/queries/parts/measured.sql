-- The measures of each lane in each step, as heat maps show them.
SELECT rank, device_idx, step, excess_ns AS excess, own_ns AS own, duration_ns AS duration, compute_ns AS compute,
    duration_ns - own_ns AS communication, copy_ns AS copy, idle_host_ns + idle_kernel_ns + idle_other_ns AS idle,
    idle_host_ns AS idle_host
FROM LaneStep
