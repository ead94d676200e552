-- Bandwidths of operations, by ranks, machines and size.
SELECT operation, group_size AS ranks, machines, bytes, count(*) AS communicators,
    median(transfer_ns) AS transfer_ns, max(transfer_ns) AS worst_ns,
    median(algorithm_bandwidth) AS algorithm_bandwidth, median(bus_bandwidth) AS bus_bandwidth,
    min(bus_bandwidth) AS worst_bandwidth
FROM Communicator
WHERE complete > 0
GROUP BY operation, group_size, machines, bytes
ORDER BY operation, bytes DESC, ranks
LIMIT 16
