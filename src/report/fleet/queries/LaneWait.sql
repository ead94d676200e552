-- How long each lane waited for others in the matched collectives that end together, and others for it.
WITH waits AS (
  SELECT a.rank, a.device_idx, count(*) AS collectives, count(DISTINCT a.step) AS steps,
    CAST(sum(a.duration_ns - m.transfer_ns) AS BIGINT) AS waited_ns
  FROM Arrival AS a
  JOIN CollectiveMatch AS m ON m.communicator = a.communicator AND m.operation = a.operation
    AND m.sender = a.sender AND m.receiver = a.receiver AND m.sequence = a.sequence
    AND m.step = a.step AND m.occurrence = a.occurrence
  WHERE m.ends_together
  GROUP BY a.rank, a.device_idx
), holds AS (
  SELECT last_rank AS rank, last_device AS device_idx, count(*) AS came_last_count,
    CAST(sum(waited_ns) AS BIGINT) AS held_up_ns
  FROM CollectiveMatch
  WHERE ends_together
  GROUP BY last_rank, last_device
)
SELECT w.*, coalesce(h.came_last_count, 0) AS came_last_count, coalesce(h.held_up_ns, 0) AS held_up_ns
FROM waits AS w
LEFT JOIN holds AS h ON h.rank = w.rank AND h.device_idx = w.device_idx
