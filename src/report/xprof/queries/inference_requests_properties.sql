-- Latency and throughput of no requests.
SELECT '0.000' AS averageLatencyMs, '0.0' AS throughput
