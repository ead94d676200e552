-- One row: the time from their first to their last operation, of all threads.
SELECT coalesce(sum(ns), 0) AS total_ns
FROM (SELECT max(end_ts) - min(start_ts) AS ns FROM host_event GROUP BY track_id)
