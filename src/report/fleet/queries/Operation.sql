-- Operations over the same communicators with at least 1 MB: one that has less than half of the bus
-- bandwidth of the best of them is slow.
WITH speeds AS (
  SELECT communicator, operation, max(bus_bandwidth) AS bus_bandwidth, sum(transfer_ns * matches) AS total_ns,
    sum(matches) AS matches, max(steps) AS steps
  FROM Communicator
  WHERE bytes >= 1000000 AND complete > 0
  GROUP BY communicator, operation
), best AS (
  SELECT communicator, max(bus_bandwidth) AS best_bandwidth,
    max_by(operation, bus_bandwidth) AS best_operation, count(*) AS operations
  FROM speeds
  GROUP BY communicator
), compared AS (
  SELECT s.operation, count(*) AS communicators, CAST(sum(s.matches) AS BIGINT) AS matches,
    max(s.steps) AS steps,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY s.bus_bandwidth) AS bus_bandwidth,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY b.best_bandwidth) AS best_bandwidth,
    min(b.best_operation) AS best_operation, max(b.operations) AS operations,
    avg(s.total_ns / s.steps) AS transfer_ns
  FROM speeds AS s
  JOIN best AS b ON b.communicator = s.communicator
  GROUP BY s.operation
)
SELECT *, operations > 1 AND bus_bandwidth < 0.5 * best_bandwidth AS is_slow,
  transfer_ns * (1 - bus_bandwidth / best_bandwidth) AS excess_ns
FROM compared
