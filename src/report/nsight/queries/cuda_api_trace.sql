-- Each call of the CUDA API, by start.
SELECT start_ts AS "Start (ns)", duration_ns AS "Duration (ns)", name AS "Name", process_id AS "Pid",
    thread_id AS "Tid"
FROM api_call
ORDER BY start_ts, id
