-- No rows: latencies of requests are not read.
SELECT '' AS percentile, 0 AS hostTimeMs, 0 AS deviceTimeMs, 0 AS communicationTimeMs, 0 AS totalTimeMs
WHERE false
