-- Kernels, by name.
SELECT {share time=duration_ns}, count(*) AS "Instances", {spread_ns time=duration_ns}, shown_name AS "Name"
FROM kernel
GROUP BY shown_name
ORDER BY "Total Time (ns)" DESC, shown_name
