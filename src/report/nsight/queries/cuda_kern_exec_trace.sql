-- Each kernel with its launch, by the launch's start.
SELECT call_start AS "API Start (ns)", call_ns AS "API Dur (ns)",
    CASE WHEN queue_ns > 0 THEN call_end END AS "Queue Start (ns)", queue_ns AS "Queue Dur (ns)",
    start_ts AS "Kernel Start (ns)", duration_ns AS "Kernel Dur (ns)",
    end_ts - call_start AS "Total Dur (ns)", process_id AS "PID", thread_id AS "TID", device_idx AS "DevId",
    call_name AS "API Function", operation AS "Kernel Name"
FROM launched
WHERE category = 'CUDA_KERNEL'
ORDER BY call_start, start_ts, id
