-- Kernels, by the operator of the framework that launched them.
SELECT {share time=duration_ns}, count(*) AS "Instances",
    {spread_ns time=duration_ns}, framework_op AS "Operator"
FROM kernel
WHERE framework_op IS NOT NULL
GROUP BY framework_op
ORDER BY "Total Time (ns)" DESC, framework_op
