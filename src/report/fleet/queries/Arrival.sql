-- Each lane's part in the collectives of the matched steps, in times of the run. Rows to be matched
-- have the same key: communicator, operation, sender and receiver of transfers, and the library's
-- number (major, minor -1) or the step and order in it. Sorted by step, so that one step is found
-- without reading all.
SELECT c.communicator,
  CASE WHEN c.operation IN ('send', 'recv') THEN 'sendrecv' ELSE c.operation END AS operation,
  CASE WHEN c.operation = 'send' THEN c.rank WHEN c.operation = 'recv' THEN c.peer ELSE -1 END AS sender,
  CASE WHEN c.operation = 'send' THEN c.peer WHEN c.operation = 'recv' THEN c.rank ELSE -1 END AS receiver,
  coalesce(c.sequence, -1) AS sequence,
  c.step, c.occurrence, c.rank, c.device_idx, l.instance,
  l.base_ns + l.rate * c.start_ts AS start_ns,
  l.base_ns + l.rate * c.end_ts AS end_ns,
  c.duration_ns,
  CASE WHEN c.operation IN ('send', 'recv') THEN CAST(2 AS BIGINT) ELSE c.group_size END AS group_size,
  c.bytes
FROM RankCollective AS c
JOIN MatchedStep AS m ON m.step = c.step
JOIN LaneClock AS l ON l.instance = c.instance AND l.rank = c.rank AND l.device_idx = c.device_idx
ORDER BY c.step
