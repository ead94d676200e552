-- Kernels of GPUs by family.
SELECT family, count(*) AS count, sum(duration_ns) AS total_ns,
    sum(duration_ns) / nullif(sum(sum(duration_ns)) OVER (), 0) AS share
FROM GpuKernel
GROUP BY family
