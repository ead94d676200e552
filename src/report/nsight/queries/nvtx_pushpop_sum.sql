-- Ranges of the host, by name: NVTX, record_function, TraceAnnotation.
SELECT {share time=duration_ns}, count(*) AS "Instances", {spread_ns time=duration_ns}, name AS "Range"
FROM span
GROUP BY name
ORDER BY "Total Time (ns)" DESC, name
