-- Copies and memsets, by kind: their time.
SELECT {share time=duration_ns}, count(*) AS "Count", {spread_ns time=duration_ns}, operation AS "Operation"
FROM copy
GROUP BY operation
ORDER BY "Total Time (ns)" DESC, operation
