-- Work with the call that launched it.
SELECT w.*, c.id AS call_id, c.name AS call_name, c.start_ts AS call_start, c.end_ts AS call_end,
    c.duration_ns AS call_ns, c.process_id, c.thread_id, c.track_id AS call_track,
    CASE WHEN w.start_ts > c.end_ts THEN w.start_ts - c.end_ts END AS queue_ns
FROM work w
JOIN api_call c ON c.id = w.launch_event_id
