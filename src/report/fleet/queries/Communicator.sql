-- Each kind of collective of each communicator, and how its transfers compare with those of the same
-- operation, size and number of ranks and machines elsewhere. It is slow at 1.5 times the
-- median of these, if it also exceeds the median by 5 robust standard deviations (of more than 4) and by 20 us:
-- less is latency. Collectives that ranks do not end together are left out.
WITH places AS (
  SELECT communicator, sender, receiver, count(*) AS machines
  FROM (SELECT DISTINCT communicator, sender, receiver, instance FROM Arrival) AS members
  GROUP BY communicator, sender, receiver
), kinds AS (
  SELECT m.communicator, m.operation, m.sender, m.receiver, m.bytes, m.group_size, p.machines,
    count(*) AS matches, CAST(count_if(is_complete) AS BIGINT) AS complete,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY transfer_ns) AS transfer_ns,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY skew_ns) AS skew_ns,
    max(skew_ns) AS max_skew_ns,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY bus_bandwidth) AS bus_bandwidth,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY algorithm_bandwidth) AS algorithm_bandwidth,
    CAST(sum(waited_ns) AS BIGINT) AS waited_ns,
    count(DISTINCT step) AS steps
  FROM CollectiveMatch AS m
  JOIN places AS p ON p.communicator = m.communicator AND p.sender = m.sender AND p.receiver = m.receiver
  WHERE m.ends_together
  GROUP BY m.communicator, m.operation, m.sender, m.receiver, m.bytes, m.group_size, p.machines
), usual AS (
  SELECT operation, bytes, group_size, machines, count(*) AS peers,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY transfer_ns) AS usual_ns
  FROM kinds
  WHERE complete > 0
  GROUP BY operation, bytes, group_size, machines
), spreads AS (
  SELECT k.operation, k.bytes, k.group_size, k.machines,
    1.4826 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(k.transfer_ns - u.usual_ns)) AS spread_ns
  FROM kinds AS k
  JOIN usual AS u ON u.operation = k.operation AND u.bytes = k.bytes
    AND u.group_size = k.group_size AND u.machines = k.machines
  WHERE k.complete > 0
  GROUP BY k.operation, k.bytes, k.group_size, k.machines
)
SELECT k.*, u.peers, u.usual_ns, s.spread_ns,
  coalesce(k.complete > 0 AND u.peers > 1
    AND k.transfer_ns > u.usual_ns + greatest(0.5 * u.usual_ns, CASE WHEN u.peers > 4 THEN 5 * s.spread_ns ELSE 0 END)
    AND k.transfer_ns > u.usual_ns + 20000, false) AS is_slow
FROM kinds AS k
LEFT JOIN usual AS u ON u.operation = k.operation AND u.bytes = k.bytes
  AND u.group_size = k.group_size AND u.machines = k.machines
LEFT JOIN spreads AS s ON s.operation = k.operation AND s.bytes = k.bytes
  AND s.group_size = k.group_size AND s.machines = k.machines
