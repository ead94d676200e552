-- When a GPU has no work for more than 20 us, the longest first, and why.
SELECT to_ts - from_ts AS "Duration (ns)", from_ts AS "Start (ns)", device_idx AS "Device ID",
    instance_id AS "Host", cause AS "Cause", waited_in AS "Waited In", next_id AS "Next Event ID",
    operation AS "Next"
FROM gap
WHERE to_ts - from_ts > 20000
ORDER BY "Duration (ns)" DESC, "Start (ns)", next_id
