-- The run in one row: ranks, steps, where the time of the median rank goes.
SELECT r.ranks, r.world_size, r.machines, r.device_name, (SELECT count(*) FROM Step) AS steps,
    (SELECT min(step) FROM Step) AS first_step, (SELECT max(step) FROM Step) AS last_step,
    (SELECT max(end_ns) - min(start_ns) FROM Step) AS duration_ns,
    (SELECT median(median_ns) FROM Step) AS step_ns, (SELECT min(median_ns) FROM Step) AS shortest_ns,
    (SELECT max(median_ns) FROM Step) AS longest_ns, s.compute_ns, s.copy_ns, s.exposed_ns, s.overlap_ns,
    s.idle_host_ns, s.idle_rest_ns, s.communication_ns, (SELECT count(*) FROM MatchedStep) AS matched_steps,
    (SELECT count(*) FROM CollectiveMatch WHERE ends_together) AS matched_collectives,
    (SELECT sum(waited_ns) FROM CollectiveMatch WHERE ends_together) / greatest((SELECT count(*) FROM MatchedStep), 1) / (
        SELECT count(*)
        FROM Lane
    ) AS waited_ns,
    (SELECT max(error_ns) FROM Clock) AS clock_error_ns, (SELECT count(*) FROM Straggler) AS straggler_count,
    (SELECT max(abs(replay_error_ns)) FROM CriticalPath) AS replay_error_ns,
    (SELECT count(*) FROM Lane) AS lanes,
    (SELECT count(*) FROM CollectiveMatch WHERE NOT ends_together) AS apart_collectives
FROM Run AS r
CROSS JOIN (
    SELECT median(compute_ns) AS compute_ns, median(copy_ns) AS copy_ns,
        median(exposed_communication_ns) AS exposed_ns, median(overlap_ns) AS overlap_ns,
        median(idle_host_ns) AS idle_host_ns, median(idle_kernel_ns + idle_other_ns) AS idle_rest_ns,
        median(communication_ns) AS communication_ns
    FROM RankSummary
) AS s
