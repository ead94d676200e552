-- When each lane came to one collective of a step.
WITH chosen AS (
    SELECT {match_columns}, transfer_ns, skew_ns
    FROM CollectiveMatch
    WHERE step = {STEP} AND ranks > 1
    ORDER BY {match_order}
    LIMIT 1 OFFSET {CHOSEN}
)
SELECT rank, device_idx AS device, instance AS machine, skew_ns + transfer_ns - duration_ns AS arrival_ns,
    duration_ns, duration_ns - transfer_ns AS waited_ns, start_ns, end_ns
FROM (SELECT * FROM Arrival WHERE step = {STEP})
JOIN chosen USING ({match_columns})
ORDER BY rank, device_idx
