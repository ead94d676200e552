-- Collectives of the steps that are replayed, as each lane takes part in them. One whose ranks do not end it together binds no
-- lanes: each has a match of its own.
WITH parts AS (
    SELECT a.*, m.ends_together, CASE WHEN m.ends_together THEN -1 ELSE a.rank END AS alone_rank,
        CASE WHEN m.ends_together THEN -1 ELSE a.device_idx END AS alone_device
    FROM Arrival AS a
    JOIN (SELECT DISTINCT step FROM ReplayStep) AS r ON r.step = a.step
    JOIN CollectiveMatch AS m ON m.communicator = a.communicator AND m.operation = a.operation
        AND m.sender = a.sender AND m.receiver = a.receiver AND m.sequence = a.sequence
        AND m.step = a.step AND m.occurrence = a.occurrence
)
SELECT dense_rank() OVER (PARTITION BY step ORDER BY communicator, operation, sender, receiver, sequence,
    occurrence, alone_rank, alone_device) AS match,
    rank, device_idx, start_ns, end_ns, communicator, operation, step, ends_together
FROM parts
ORDER BY step, match, rank, device_idx
