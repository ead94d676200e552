-- What collective_stats needs: collectives, or kernels of GPUs that are named after one.
SELECT 1
FROM RankCollective
UNION ALL
SELECT 1
FROM Collective
JOIN GpuKernel USING (id)
UNION ALL
SELECT 1
FROM EventType
WHERE regexp_matches(name, '^(?:nccl|rccl)(?:Dev)?Kernel_')
