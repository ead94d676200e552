-- Copies with the call that made them, if it is known.
SELECT c.*, l.name AS call_name, l.process_id,
    coalesce(l.is_blocking_copy, NOT c.is_async, false) AS is_blocking
FROM copy c
LEFT JOIN api_call l ON l.id = c.launch_event_id
