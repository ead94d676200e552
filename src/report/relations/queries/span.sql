-- Ranges of the host: NVTX and record_function ranges, TraceMe annotations.
SELECT e.id, e.name, e.start_ts, e.end_ts, e.duration_ns, e.process_id, e.thread_id, e.track_id
FROM SystemProfileEvents e
JOIN event_kind t ON t.id = e.event_type_id
WHERE t.is_span AND e.duration_ns > 0 AND (e.trace_event_source = 'framework' OR NOT t.is_guessed) AND
    e.track_id NOT IN (SELECT id FROM beside) AND e.trace_event_source NOT LIKE '%hw'
