-- Kernels, by family.
SELECT {share time=duration_ns}, count(*) AS "Instances", {spread_ns time=duration_ns}, family AS "Family"
FROM kernel
WHERE family IS NOT NULL
GROUP BY family
ORDER BY "Total Time (ns)" DESC, family
