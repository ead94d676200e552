-- Kernels, copies and memsets of GPUs.
SELECT id, start_ts, end_ts, duration_ns, instance_id, track_id, device_idx, stream_id, context_id,
    correlation_id, launch_event_id, 'CUDA_KERNEL' AS category, shown_name AS operation, is_nccl,
    is_collective
FROM kernel
UNION ALL BY NAME
SELECT id, start_ts, end_ts, duration_ns, instance_id, track_id, device_idx, stream_id, context_id,
    correlation_id, launch_event_id, 'MEMORY_OPER' AS category, operation, false AS is_nccl,
    false AS is_collective
FROM copy
