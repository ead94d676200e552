-- Collectives matched over ranks. All ranks leave one together, so durations alone show when each
-- rank arrived, without any clock: the shortest is that of the last rank and the time of the
-- transfer; the others waited for as long as theirs exceed it. Bandwidths are those of nccl-tests, in GB/s.
-- Rows whose ends are further apart than 5 times the error of their machines' clocks, than the
-- transfer and than 20 us did not leave together: they may be different collectives, so their
-- skews, waits and bandwidths mean nothing, and no later stage reads them. Machines that no
-- sample connects have ends that cannot be compared.
WITH matches AS (
  SELECT communicator, operation, sender, receiver, sequence, step, occurrence,
    count(*) AS ranks, max(group_size) AS known_size,
    avg(end_ns) AS end_ns, max(end_ns) - min(end_ns) AS end_spread_ns,
    coalesce(max(c.error_ns), 0) AS clock_error_ns, coalesce(min(c.component) < max(c.component), false) AS is_unconnected,
    min(duration_ns) AS transfer_ns, max(duration_ns) AS longest_ns,
    min_by(rank, duration_ns) AS last_rank, min_by(device_idx, duration_ns) AS last_device,
    CAST(sum(duration_ns) AS BIGINT) AS total_ns, max(bytes) AS bytes
  FROM Arrival AS a
  LEFT JOIN Clock AS c ON c.instance = a.instance
  GROUP BY communicator, operation, sender, receiver, sequence, step, occurrence
)
SELECT communicator, operation, sender, receiver, sequence, step, occurrence, m.ranks, group_size,
  m.ranks > 1 AND coalesce(m.ranks = known_size, r.ranks >= r.world_size, true) AS is_complete,
  is_unconnected OR end_spread_ns <= greatest(5 * clock_error_ns, transfer_ns, 20000) AS ends_together,
  end_ns - longest_ns AS first_arrival_ns, end_ns - transfer_ns AS last_arrival_ns, end_ns,
  end_spread_ns, clock_error_ns, longest_ns - transfer_ns AS skew_ns, m.last_rank, m.last_device,
  total_ns - m.ranks * transfer_ns AS waited_ns, transfer_ns, bytes,
  CASE WHEN transfer_ns > 0 THEN CAST(bytes AS DOUBLE) / transfer_ns END AS algorithm_bandwidth,
  CASE WHEN transfer_ns > 0 AND m.ranks > 1 THEN CAST(bytes AS DOUBLE) / transfer_ns
    * CASE
        WHEN replace(operation, '_', '') LIKE '%allreduce%' THEN 2.0 * (group_size - 1) / group_size
        WHEN replace(operation, '_', '') LIKE '%allgather%'
          OR replace(operation, '_', '') LIKE '%reducescatter%'
          OR replace(operation, '_', '') LIKE '%alltoall%' THEN 1.0 * (group_size - 1) / group_size
        ELSE 1.0
      END
  END AS bus_bandwidth
FROM (SELECT matches.*, coalesce(known_size, ranks) AS group_size FROM matches) AS m
CROSS JOIN Run AS r
ORDER BY step
