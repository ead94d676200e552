-- Calls of the CUDA and HIP APIs on the host.
SELECT e.id, e.start_ts, e.end_ts, e.duration_ns, e.instance_id, e.process_id, e.thread_id, e.track_id,
    t.call_name AS name, t.is_wait, t.is_blocking_copy
FROM SystemProfileEvents e
JOIN event_kind t ON t.id = e.event_type_id
WHERE t.is_call AND e.trace_event_source NOT LIKE '%hw'
