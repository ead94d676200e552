-- Kernels, by name, grid and block size.
SELECT {share time=duration_ns}, count(*) AS "Instances", {spread_ns time=duration_ns}, grid AS "GridXYZ",
    block AS "BlockXYZ", shown_name AS "Name"
FROM kernel
GROUP BY grid, block, shown_name
ORDER BY "Total Time (ns)" DESC, grid, block, shown_name
