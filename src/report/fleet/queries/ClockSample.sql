-- Ends of collectives that several machines took part in, each machine's by its own clock: those of
-- the most machines, two of each operation for each machine, in 32 steps, evenly over the run. They
-- ended at the same time.
WITH bounds AS (
  SELECT min(first_step) AS first_step,
    CAST(ceil((max(last_step) - min(first_step) + 1) / 32.0) AS BIGINT) AS stride
  FROM Lane
), ends AS (
  SELECT c.communicator,
    CASE WHEN c.operation IN ('send', 'recv') THEN 'sendrecv' ELSE c.operation END AS operation,
    CASE WHEN c.operation = 'send' THEN c.rank WHEN c.operation = 'recv' THEN c.peer ELSE -1 END AS sender,
    CASE WHEN c.operation = 'send' THEN c.peer WHEN c.operation = 'recv' THEN c.rank ELSE -1 END AS receiver,
    c.step, c.instance, avg(CAST(l.epoch_ns + c.end_ts AS DOUBLE)) AS end_ns
  FROM RankCollective AS c
  CROSS JOIN bounds AS b
  JOIN Lane AS l ON l.instance = c.instance AND l.rank = c.rank AND l.device_idx = c.device_idx
  WHERE c.occurrence = 0 AND (c.step - b.first_step) % b.stride = 0
  GROUP BY 1, 2, 3, 4, 5, 6
), counted AS (
  SELECT *, count(*) OVER (PARTITION BY communicator, operation, sender, receiver, step) AS machines
  FROM ends
), placed AS (
  SELECT *, row_number() OVER (PARTITION BY instance, step, operation
    ORDER BY machines DESC, communicator, sender, receiver) AS place
  FROM counted
  WHERE machines > 1
), kept AS (
  SELECT DISTINCT communicator, operation, sender, receiver, step FROM placed WHERE place <= 2
)
SELECT
  CAST(dense_rank() OVER (ORDER BY c.step, c.operation, c.communicator, c.sender, c.receiver) AS BIGINT) AS match,
  c.instance, c.end_ns
FROM counted AS c
JOIN kept AS k ON k.step = c.step AND k.operation = c.operation AND k.communicator = c.communicator
  AND k.sender = c.sender AND k.receiver = c.receiver
