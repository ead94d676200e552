-- Copies as the rules of Nsight list them.
SELECT duration_ns AS "Duration (ns)", start_ts AS "Start (ns)", source_kind AS "Src Kind",
    destination_kind AS "Dst Kind", size_bytes / 1e6 AS "Bytes (MB)", process_id AS "PID",
    device_idx AS "Device ID", context_id AS "Context ID", stream_id AS "Stream ID", call_name AS "API Name"
FROM copied
WHERE {condition}
ORDER BY "Duration (ns)" DESC, "Start (ns)", id
