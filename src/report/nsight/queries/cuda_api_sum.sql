-- Calls of the CUDA API on the host, by function.
SELECT {share time=duration_ns}, count(*) AS "Num Calls", {spread_ns time=duration_ns}, name AS "Name"
FROM api_call
GROUP BY name
ORDER BY "Total Time (ns)" DESC, name
