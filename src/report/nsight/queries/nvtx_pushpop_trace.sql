-- Each range of the host, by start.
SELECT start_ts AS "Start (ns)", end_ts AS "End (ns)", duration_ns AS "Duration (ns)", name AS "Name",
    process_id AS "PID", thread_id AS "TID"
FROM span
ORDER BY start_ts, id
