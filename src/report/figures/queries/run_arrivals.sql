-- When each lane came to a collective.
SELECT {match_columns}, a.rank, a.device_idx AS device, m.skew_ns + m.transfer_ns - a.duration_ns AS arrival_ns,
    a.duration_ns, a.duration_ns - m.transfer_ns AS waited_ns
FROM Arrival AS a
JOIN CollectiveMatch AS m USING ({match_columns})
WHERE m.ranks > 1
