-- Each call that waits for the GPU, the longest first.
SELECT duration_ns AS "Duration (ns)", start_ts AS "Start (ns)", process_id AS "PID", thread_id AS "TID",
    name AS "API Name"
FROM api_call
WHERE is_wait
ORDER BY "Duration (ns)" DESC, "Start (ns)", id
