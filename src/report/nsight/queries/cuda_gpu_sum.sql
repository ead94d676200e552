-- Kernels, copies and memsets in one ranking.
SELECT {share time=duration_ns}, count(*) AS "Instances", {spread_ns time=duration_ns}, category AS "Category",
    operation AS "Operation"
FROM work
GROUP BY category, operation
ORDER BY "Total Time (ns)" DESC, category, operation
