-- Kernels of NCCL and RCCL, by name.
SELECT {share time=duration_ns}, count(*) AS "Instances", {spread_ns time=duration_ns}, shown_name AS "Name"
FROM kernel
WHERE is_nccl
GROUP BY shown_name
ORDER BY "Total Time (ns)" DESC, shown_name
