-- Kernels under their names as they are recorded.
SELECT k.*, k.name AS shown_name
FROM GpuKernel k
