-- Collectives of the steps that are replayed, as each lane takes part in them.
SELECT dense_rank() OVER (PARTITION BY a.step ORDER BY communicator, operation, sender, receiver, sequence,
    occurrence) AS match,
    a.rank, a.device_idx, start_ns, end_ns, communicator, operation, a.step
FROM Arrival AS a
JOIN (SELECT DISTINCT step FROM ReplayStep) AS r ON r.step = a.step
ORDER BY a.step, match, a.rank, a.device_idx
