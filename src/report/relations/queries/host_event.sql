-- Events of operations of the host.
SELECT e.*, t.type, t.operation
FROM SystemProfileEvents e
JOIN host_type t ON t.id = e.event_type_id
WHERE e.trace_event_source NOT LIKE '%hw' AND {on_host column=e.instance_id}
