-- Kernels of GPUs by family; profiles of earlier versions do not have it.
SELECT family, count(*) AS count, sum(duration_ns) AS total_ns,
    sum(duration_ns) / nullif(sum(sum(duration_ns)) OVER (), 0) AS share
FROM GpuKernel
WHERE family IS NOT NULL
GROUP BY family
