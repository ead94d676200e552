-- Collectives of a step, those first in which most is waited.
SELECT {match_columns}, ranks, group_size, is_complete, ends_together, end_spread_ns, skew_ns, last_rank, last_device, waited_ns,
    transfer_ns, bytes, bus_bandwidth
FROM CollectiveMatch
WHERE step = {STEP} AND ranks > 1
ORDER BY {match_order}
LIMIT {LIMIT}
