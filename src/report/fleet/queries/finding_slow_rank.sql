-- Stragglers with their machine, and how much a replay without them saves.
WITH machines AS (
    SELECT l.instance, count(*) AS lanes, count(s.rank) AS slow
    FROM Lane AS l
    LEFT JOIN Straggler AS s ON s.rank = l.rank AND s.device_idx = l.device_idx
    GROUP BY l.instance
)
SELECT s.rank, s.device_idx, s.instance, s.kind, s.first_step, s.steps, s.late_steps, s.excess_ns,
    s.expected_ns, s.mean_excess_ns, s.cause, s.cause_ns, s.kernel, s.kernel_excess_ns, s.kernel_usual_ns,
    s.is_one_kernel, s.came_last_count, s.matched_collectives, w.saved_ns, k.usual_compute_ns, l.device_count,
    m.slow AS machine_slow, m.lanes AS machine_lanes, v.saved_ns AS machine_saved_ns
FROM Straggler AS s
JOIN Lane AS l ON l.rank = s.rank AND l.device_idx = s.device_idx
JOIN machines AS m ON m.instance = s.instance
LEFT JOIN WhatIf AS w ON w.kind = 'rank' AND w.rank = s.rank AND w.device_idx = s.device_idx
LEFT JOIN WhatIf AS v ON v.kind = 'machine' AND v.instance = s.instance
LEFT JOIN StragglerWork AS k ON k.rank = s.rank AND k.device_idx = s.device_idx
ORDER BY s.mean_excess_ns DESC, s.rank, s.device_idx
LIMIT 64
