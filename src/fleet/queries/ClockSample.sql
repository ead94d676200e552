-- Ends of collectives that several machines took part in, each machine's by its own clock: the
-- first of each kind in 48 steps, evenly over the run. They ended at the same time.
WITH steps AS (
  SELECT step, row_number() OVER (ORDER BY step) - 1 AS number, count(*) OVER () AS steps
  FROM (SELECT DISTINCT step FROM RankStep) AS known
), chosen AS (
  SELECT step FROM steps WHERE number % CAST(ceil(steps / 48.0) AS BIGINT) = 0
), ends AS (
  SELECT c.communicator,
    CASE WHEN c.operation IN ('send', 'recv') THEN 'sendrecv' ELSE c.operation END AS operation,
    CASE WHEN c.operation = 'send' THEN c.rank WHEN c.operation = 'recv' THEN c.peer ELSE -1 END AS sender,
    CASE WHEN c.operation = 'send' THEN c.peer WHEN c.operation = 'recv' THEN c.rank ELSE -1 END AS receiver,
    c.step, c.instance, avg(CAST(l.epoch_ns + c.end_ts AS DOUBLE)) AS end_ns
  FROM RankCollective AS c
  JOIN chosen ON chosen.step = c.step
  JOIN Lane AS l ON l.instance = c.instance AND l.rank = c.rank AND l.device_idx = c.device_idx
  WHERE c.occurrence = 0
  GROUP BY 1, 2, 3, 4, 5, 6
), counted AS (
  SELECT *, count(*) OVER (PARTITION BY communicator, operation, sender, receiver, step) AS machines
  FROM ends
)
SELECT
  dense_rank() OVER (ORDER BY communicator, operation, sender, receiver, step) AS match,
  instance, end_ns
FROM counted
WHERE machines > 1
