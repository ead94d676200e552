-- Kernels and copies of all ranks, in one pass over their files.
SELECT coalesce(name, '(other: ' || class || ')') AS name, '' AS layer, '' AS shape, step, sum(count),
    sum(total_ns), NULL, class = 'communication', class = 'copy'
FROM ranks.RankKernel
GROUP BY 1, step, class
