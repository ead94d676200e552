-- Slow operations, and the bandwidth of the best.
SELECT operation, bus_bandwidth / best_bandwidth, best_operation
FROM Operation
WHERE is_slow
ORDER BY operation
