-- From launch to end: total (T), API call (A), queue (Q) and kernel (K) time.
SELECT process_id AS "PID", thread_id AS "TID", device_idx AS "DevId", count(*) AS "Count",
    count(queue_ns) AS "QCount", {spread value=end_ts - call_start | unit=(ns) | prefix=T},
    {spread value=call_ns | unit=(ns) | prefix=A}, {spread value=queue_ns | unit=(ns) | prefix=Q},
    {spread value=duration_ns | unit=(ns) | prefix=K}, call_name AS "API Name", operation AS "Kernel Name"
FROM launched
WHERE category = 'CUDA_KERNEL'
GROUP BY process_id, thread_id, device_idx, call_name, operation
ORDER BY sum(end_ts - call_start) DESC, process_id, thread_id, device_idx, call_name, operation
