-- API calls, kernels, copies and memsets in one ranking.
SELECT {share time=duration_ns}, count(*) AS "Instances", {spread_ns time=duration_ns}, category AS "Category",
    operation AS "Operation"
FROM (
    SELECT duration_ns, category, operation
    FROM work
    UNION ALL
    SELECT duration_ns, 'CUDA_API', name
    FROM api_call
)
GROUP BY category, operation
ORDER BY "Total Time (ns)" DESC, category, operation
