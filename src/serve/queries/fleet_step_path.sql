-- The critical path of a step.
SELECT position, rank, device_idx AS device, kind, communicator, operation, start_ns, end_ns, {path_share} AS share,
    compute_ns, copy_ns, host_ns, other_ns, replay_error_ns
FROM CriticalPath
WHERE step = {STEP}
ORDER BY position
LIMIT {LIMIT}
